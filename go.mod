module github.com/mkgen/mkgen

go 1.26.8
