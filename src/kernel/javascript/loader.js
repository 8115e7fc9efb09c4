/* loader.js: started as `node -e`, reads kernel.js from descriptor 8 and runs it. */
{
    const fs = require("node:fs");
    const read = (size) => {
        const bytes = Buffer.alloc(size);
        for (let at = 0; at < size; ) {
            const n = fs.readSync(8, bytes, at, size - at, null);
            if (n === 0) {
                process.exit(0);
            }
            at += n;
        }
        return bytes;
    };
    const source = read(read(4).readUInt32LE(0)).toString();
    const wrapped = `(function (require, nonce) {${source}\n})`;
    require("node:vm").runInThisContext(wrapped, { filename: "werkbank-kernel.js" })(
        require,
        process.argv[1],
    );
}
