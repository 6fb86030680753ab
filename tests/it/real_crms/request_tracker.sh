#!/bin/sh
# Makes a Request Tracker of one's own out of Debian's package: $1 is an empty folder, $2 the port it will listen on.
# Leaves RT_SiteConfig.pm, the database and seed.json in it.
set -eu
folder=$1
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$folder/conf.d" "$folder/session" "$folder/mason"
cat >"$folder/RT_SiteConfig.pm" <<CONFIG
Set(\$rtname, 'zayavka.test');
Set(\$Organization, 'zayavka.test');
Set(\$WebDomain, '127.0.0.1');
Set(\$DatabaseType, 'SQLite');
Set(\$DatabaseName, '$folder/rt.sqlite');
Set(\$MailCommand, 'testfile');
Set(\$LogToSTDERR, 'error');
Set(\$LogToSyslog, undef);
Set(\$MasonDataDir, '$folder/mason');
Set(\$MasonSessionDir, '$folder/session');
Set(\$WebSessionClass, 'Apache::Session::File');
Set(\$Timezone, 'UTC');
1;
CONFIG
export RT_SITE_CONFIG="$folder/RT_SiteConfig.pm" RT_SITE_CONFIG_DIR="$folder/conf.d"
rt-setup-database-5 --action init --dba root --dba-password none </dev/null
perl "$here/request_tracker_seed.pl" "$folder/seed.json"
