#!/usr/bin/env bash
# site.sh - generator of the manual as a static site, BUILD/site.
#
# The site has the pages of docs/, and a page with its pictures for each program
# of examples/.
#
# Use: scripts/docs/site.sh BUILD   (make site)
#
# - Needs MkDocs (Debian: mkdocs) and a built atled.
# - Pages of docs/ that mkdocs.yml does not list are appended to its list.
# - Links out of docs/ are adapted; a dead link is an error.
# - Writes only inside BUILD.
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

# The highlighter does not know the language `dsl`; its keywords, strings and
# comments are closest to Julia's. Removes the words for the test runner.
blocks() { sed -E 's/^```dsl.*$/```julia/; s/^```text$/```nohighlight/'; }

cp -r docs/images repl/plot/font_licence.txt "$pages"
for page in docs/*/*.md; do
	mkdir -p "$pages/$(basename "$(dirname "$page")")"
	sed -E -e 's#\]\(\.\./\.\./examples/(pde/)?([a-z_0-9]+)\.dsl\)#](../examples/\1\2.md)#g' \
		-e 's#\]\(\.\./\.\./README\.md\)#](../index.md)#g' "$page" |
		blocks >"$pages/${page#docs/}"
done
sed -E -e 's#\]\(docs/([a-z]+/[a-z_0-9]+\.md)\)#](\1)#g' \
	-e 's#\]\(LICENSE\)#](https://www.apache.org/licenses/LICENSE-2.0)#g' \
	-e 's#\]\(repl/plot/(font_licence.txt)\)#](\1)#g' README.md |
	blocks >"$pages/index.md"

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
		# shellcheck disable=SC2016 # Markdown markup
		printf '# %s\n\n```julia\n%s\n```\n\nIt prints\n\n```nohighlight\n%s\n```\n' \
			"$name" "$(cat "$example")" "$log"
		for picture in "$pages/examples/$name"{,-*}.{png,svg,gif,apng}; do
			if [ -f "$picture" ]; then
				printf '\n![what it draws](%s)\n' "$(basename "$picture")"
			fi
		done
	} >"$pages/examples/$name.md"
done
# the page of the gallery has the output and pictures of these programs
mkdir -p "$pages/examples/pde"
for example in examples/pde/*.dsl; do
	name=$(basename "$example" .dsl)
	# shellcheck disable=SC2016 # Markdown markup
	printf '# %s\n\n```julia\n%s\n```\n\n[What it prints and draws](../../guide/gallery.md#%s)\n' \
		"$name" "$(cat "$example")" "$name" >"$pages/examples/pde/$name.md"
done

# append the pages that mkdocs.yml does not list
list=$build/mkdocs.yml
sed "s#build/site#$PWD/$build/site#" mkdocs.yml >"$list"
for page in "$pages"/{guide,methods,reference,internals}/*.md; do
	grep -qF ": ${page#"$pages/"}" "$list" ||
		printf '  - %s: %s\n' "$(sed -n '1s/^# //p' "$page" | tr -d ':')" \
			"${page#"$pages/"}" >>"$list"
done
mkdocs build --strict --quiet --config-file "$list"
echo "site: $build/site/index.html"
