#!/usr/bin/env bash
# Fails where web/dist is not what web/src builds, or its types are wrong. --fix puts the fresh build in its place.
# Needs Node.js; web/node_modules is what `npm ci --prefix web` makes.
set -eu
cd "$(dirname "$0")/../web"
if [ ! -d node_modules ]; then
  echo "web/node_modules is missing: run npm ci --prefix web"
  exit 1
fi
npx tsc
if [ "${1:-}" = --fix ]; then
  npx vite build --logLevel warn
  exit
fi
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
npx vite build --logLevel warn --outDir "$fresh" --emptyOutDir
diff -rq "$fresh" dist || {
  echo "web/dist is not what web/src builds: run scripts/check_web.sh --fix"
  exit 1
}
