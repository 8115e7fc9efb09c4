"""Real code to search: files of what tools/setup has installed."""

import collections
import hashlib
import pathlib
import re

from common import TOOLS

FILE_BYTES_MAX = 512 * 1024
CPP = re.compile(rb"\b(template|class|namespace)\b|::")  # what C's headers do not have
TOPS = [TOOLS, *map(pathlib.Path, ("/usr/include", "/usr/lib/python3"))]


class Corpus:
    """Files of what is installed, drawn by a hash of their names: everywhere a few."""

    def __init__(self, root, language, endings, size):
        self.root, self.bytes, self.texts = root, 0, {}
        found = [
            path
            for top in TOPS
            for path in top.rglob("*")
            if path.suffix in endings and path.is_file() and not path.is_symlink()
        ]
        key = {path: hashlib.sha256(str(path).encode()).hexdigest() for path in found}
        for path in sorted(found, key=key.get):
            content = path.read_bytes()
            if self.bytes >= size:
                break
            if not 200 < len(content) <= FILE_BYTES_MAX or b"\0" in content:
                continue
            if language == "c" and CPP.search(content):
                continue
            target = root / key[path][-1] / f"{key[path][:12]}{path.suffix}"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            self.bytes += len(content)
            self.texts[target] = content
        self.is_enough = self.bytes >= size
        print(f"# {language}: {len(self.texts)} files, {self.bytes / 1e6:.1f} MB")

    def names(self):
        """Called names: the rarest in two files or more, one in a tenth, one in half of them."""
        files, held = collections.Counter(), collections.Counter()
        for text in self.texts.values():
            for name in set(re.findall(rb"\b([A-Za-z_]\w{5,})\(", text)):
                files[name] += 1
                held[name] += len(text)
        for wanted, what in ((None, "rare"), (0.1, "in a tenth"), (0.5, "in half")):
            if wanted is None:
                rare = [n for n in files if files[n] > 1 and held[n] <= self.bytes / 200]
                name = max(rare, key=lambda n: (held[n], n))
            else:
                name = min(files, key=lambda n: (abs(files[n] / len(self.texts) - wanted), n))
            share = files[name] / len(self.texts)
            if wanted is None or abs(share - wanted) < wanted / 2:
                yield what, name.decode(), share, held[name] / self.bytes
