#!/usr/bin/env bash
# site.sh - the manual as a static site in build/site: the pages of docs/, and one for each program of examples/ with the picture that it makes.
#
# Use: scripts/docs/site.sh BUILD   (make site)
#
# Needs MkDocs (Debian: mkdocs) and a built atled. Pages of docs/ that mkdocs.yml does not name are put into its list by themselves. Links out of docs/ are made to
# fit, and a link that leads nowhere is an error. Nothing outside BUILD is written.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1
pages=$build/site-pages
command -v mkdocs >/dev/null || {
	echo 'site: MkDocs is not there (Debian and Ubuntu: apt-get install mkdocs)' >&2
	exit 1
}
rm -rf "$pages" "$build/site"
mkdir -p "$pages/examples"

# `dsl` is not a language the highlighter knows; Julia's words, strings and comments are nearest. What is marked with words for the test runner loses them.
blocks() { sed -E 's/^```dsl.*$/```julia/; s/^```text$/```nohighlight/'; }

cp -r docs/images "$pages"
for page in docs/*/*.md; do
	mkdir -p "$pages/$(basename "$(dirname "$page")")"
	sed -E 's#\]\(\.\./\.\./examples/(pde/)?([a-z_0-9]+)\.dsl\)#](../examples/\1\2.md)#g; s#\]\(\.\./\.\./README\.md\)#](../index.md)#g' "$page" |
		blocks >"$pages/${page#docs/}"
done
sed -E 's#\]\(docs/([a-z]+/[a-z_0-9]+\.md)\)#](\1)#g; s#\]\(LICENSE\)#](https://www.apache.org/licenses/LICENSE-2.0)#g' README.md | blocks >"$pages/index.md"

{
	printf '# Examples\n\n'
	for example in examples/*.dsl; do
		name=$(basename "$example" .dsl)
		printf -- '- [%s](%s.md): %s\n' "$name" "$name" "$(sed -n '1s/^# //p' "$example")"
	done
} >"$pages/examples/index.md"
for example in examples/*.dsl; do
	name=$(basename "$example" .dsl)
	log=$(cd "$pages/examples" && "$OLDPWD/$build/atled" "$OLDPWD/$example" 2>&1) || {
		printf 'site: %s failed:\n%s\n' "$example" "$log" >&2
		exit 1
	}
	{
		# shellcheck disable=SC2016 # Markdown's marks
		printf '# %s\n\n```julia\n%s\n```\n\nIt prints\n\n```nohighlight\n%s\n```\n' "$name" "$(cat "$example")" "$log"
		for picture in "$pages/examples/$name"{,-*}.{png,svg,gif,apng}; do
			if [ -f "$picture" ]; then printf '\n![what it draws](%s)\n' "$(basename "$picture")"; fi
		done
	} >"$pages/examples/$name.md"
done
# the gallery's page shows what these print and draw
mkdir -p "$pages/examples/pde"
for example in examples/pde/*.dsl; do
	name=$(basename "$example" .dsl)
	# shellcheck disable=SC2016 # Markdown's marks
	printf '# %s\n\n```julia\n%s\n```\n\n[What it prints and draws](../../guide/gallery.md#%s)\n' "$name" "$(cat "$example")" "$name" >"$pages/examples/pde/$name.md"
done

# pages that the list does not name follow the others
list=$build/mkdocs.yml
sed "s#build/site#$PWD/$build/site#" mkdocs.yml >"$list"
for page in "$pages"/{guide,methods,reference,internals}/*.md; do
	grep -qF ": ${page#"$pages/"}" "$list" || printf '  - %s: %s\n' "$(sed -n '1s/^# //p' "$page" | tr -d ':')" "${page#"$pages/"}" >>"$list"
done
mkdocs build --strict --quiet --config-file "$list"
echo "site: $build/site/index.html"
