module werkbank.invalid/mcp-language-server

go 1.27.0

tool github.com/isaacphi/mcp-language-server

require (
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/fsnotify/fsnotify v1.9.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/isaacphi/mcp-language-server v0.1.1 // indirect
	github.com/mark3labs/mcp-go v0.25.0 // indirect
	github.com/sabhiram/go-gitignore v0.0.0-20210923224102-525f6e181f06 // indirect
	github.com/spf13/cast v1.7.1 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	golang.org/x/sys v0.31.0 // indirect
)
