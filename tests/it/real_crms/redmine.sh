#!/bin/sh
# Makes a Redmine of one's own out of Debian's package: $1 is an empty folder, seed.rb lies beside this file.
# Leaves app/, redmine.sqlite and seed.json in it.
set -eu
folder=$1
here=$(cd "$(dirname "$0")" && pwd)
cp -r /usr/share/redmine "$folder/app"
cd "$folder/app"
# The package links these to places that all instances of the machine share.
rm -f instances Gemfile.lock config/database.yml
instance=instances/zayavka
mkdir -p "$instance/config" "$instance/log" "$instance/tmp/cache" "$instance/files" plugins log tmp
printf 'production:\n  adapter: sqlite3\n  database: %s/redmine.sqlite\n  timeout: 20000\n' "$folder" >config/database.yml
cp config/database.yml "$instance/config/"
head -c 64 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$instance/config/secret_key.txt"
sed -i "s#/usr/share/redmine/#$folder/app/#" Gemfile
export X_DEBIAN_SITEID=zayavka RAILS_ENV=production
rake db:migrate
ruby bin/rails runner "$here/redmine_seed.rb" "$folder/seed.json"
