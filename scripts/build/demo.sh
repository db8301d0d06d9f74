#!/usr/bin/env bash
# demo.sh - runs an example and reports the pictures that it made.
#
# Use: scripts/build/demo.sh PROGRAM EXAMPLE
#
# The example runs in build/demo and writes its files there.
set -euo pipefail
cd "$(dirname "$0")/../.."
program=$PWD/$1 example=$PWD/$2 folder=build/demo

mkdir -p "$folder"
rm -f "$folder"/*.png "$folder"/*.svg
(cd "$folder" && "$program" "$example")
shopt -s nullglob
pictures=("$folder"/*.png "$folder"/*.svg)
if [ ${#pictures[@]} -eq 0 ]; then
	echo "demo: $2 ran, but left no picture in $folder" >&2
	exit 1
fi
for picture in "${pictures[@]}"; do echo "The picture is in $picture"; done
