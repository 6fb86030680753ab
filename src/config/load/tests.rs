//! The template, the contract's sample, and files with many mistakes.

use super::*;
use crate::{
    config::{Receive, TEMPLATE},
    domain::notice::NoticeKind,
    ids::{ChatId, UserId},
};

const CONTRACT: &str = include_str!("../../../tests/it/fixtures/contract/zayavka.toml");

fn env(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn refused(text: &str, variables: &[(&str, &str)]) -> String {
    Config::parse("zayavka.toml", text, &env(variables)).unwrap_err().to_string()
}

const TOKEN: (&str, &str) = ("ZAYAVKA_TELEGRAM__TOKEN", "42:abc_DEF-1");

#[test]
fn the_template_states_the_defaults() {
    let template = Config::parse("c", TEMPLATE, &env(&[TOKEN])).unwrap();
    let defaults = Config::load(None, &env(&[TOKEN])).unwrap();
    let comparable = |config: Config| {
        format!(
            "{:#?}",
            Config { source: String::new(), places: Places::default(), warnings: Problems::new(), ..config }
        )
    };
    assert_eq!(comparable(template), comparable(defaults));
}

#[test]
fn the_template_mentions_every_key() {
    let document = Document::parse("c", TEMPLATE);
    let _ = read(&document);
    let mentioned =
        |key: &str| TEMPLATE.lines().any(|line| line.trim_start_matches("# ").starts_with(&format!("{key} =")));
    for path in document.asked() {
        let key = path.rsplit('.').next().unwrap();
        let is_table = TEMPLATE.contains(&format!("[{path}]"));
        assert!(is_table || mentioned(key) || (key.ends_with("_file") && TEMPLATE.contains(key)), "{path}");
    }
}

#[test]
fn the_contract_s_sample_loads_as_it_is() {
    let config = Config::parse("zayavka.toml", CONTRACT, &BTreeMap::new()).unwrap();
    assert_eq!(config.warnings.to_string(), "");
    assert_eq!(config.telegram.bot_id.0, 123_456);
    assert!(matches!(config.telegram.receive, Receive::Polling));
    assert_eq!(config.staff.chat, Some(ChatId(-1_001_234_567_890)));
    assert_eq!(config.staff.reviewers, [UserId(2), UserId(3)]);
    assert_eq!(config.crm.vars["base_url"], "http://127.0.0.1:9100");
    assert_eq!(config.crm.secrets["token"].expose_secret(), "secret");
    assert_eq!(config.crm.reconcile.settle, Some(120 * SECOND));
    assert_eq!(config.crm.reconcile.on_absent, Some(OnAbsent::Review));
    assert_eq!(config.retention.operations, 1095 * DAY);
}

#[test]
fn every_mistake_of_a_file_is_reported_at_its_line() {
    let text = r#"[telegram]
tokn = "1:a"
api_url = "ftp://x"
receive = "webhook"
[telegram.webhook]
url = "http://bot.example.ru:8080/health/live"
secret_token = "not allowed!"
max_connections = 0
[staff]
chat = 0
owners = [1087968824, 5, "x"]
[database]
url = "mysql://root:hunter2@db/x"
[crm]
request_timeout = "30s"
lease = "30s"
connect_timeout = "10s"
[crm.secrets]
token = ""
key = 5
[crm.reconcile]
looks = 0
on_absent = "create"
[web]
listen = "8080"
[worker]
concurrency = 1000
tick = 1
[notices]
created = "maybe"
[retention]
operations = "5d"
updates = "1d"
[log]
format = "xml"
filter = "a=b=c"
[extra]
[pace]
burst = 0
per_chatt = 1
"#;
    let said = refused(text, &[("ZAYAVKA_LIMITS__OPEN_DRAFTS_PER_CLIENT", "many"), ("ZAYAVKA_CRM__LEESE", "1s")]);
    assert!(!said.contains("hunter2") && !said.contains("not allowed!"), "{said}");
    insta::assert_snapshot!(said, @r#"
    environment: ZAYAVKA_CRM__LEESE is no known key — did you mean ZAYAVKA_CRM__LEASE?
    environment ZAYAVKA_LIMITS__OPEN_DRAFTS_PER_CLIENT: `limits.open_drafts_per_client` is not a whole number we can hold — 1 to 100
    zayavka.toml:1: `telegram.token` is missing — @BotFather gives one; here, in token_file, or in ZAYAVKA_TELEGRAM__TOKEN
    zayavka.toml:2: unknown key `tokn` in [telegram] — did you mean `token`?
    zayavka.toml:3: `telegram.api_url` is neither http nor https — such as https://api.telegram.org or http://127.0.0.1:8081
    zayavka.toml:6: `telegram.webhook.url` is not https — plain http only on a loopback or private address, for a local Bot API server
    zayavka.toml:6: `telegram.webhook.url` has the path /health/live, which is taken — give it a path of its own: /telegram
    zayavka.toml:7: `telegram.webhook.secret_token` is not one Telegram takes — 1 to 256 of A-Z, a-z, 0-9, _ and -
    zayavka.toml:8: `telegram.webhook.max_connections` is 0, out of range — 1 to 100
    zayavka.toml:10: `staff.chat` is 0 — the numeric id of the chat; groups begin with -100
    zayavka.toml:11: `staff.owners` has 1087968824, which is no person — it stands for anonymous admins and channels: whoever writes as it is nobody
    zayavka.toml:11: `staff.owners[3]` must be a whole number, this is a string
    zayavka.toml:13: `database.url` is of no kind we know — sqlite://zayavka.db or postgres://user:password@host/db
    zayavka.toml:16: `crm.lease` must be longer than `crm.request_timeout` — a sender must be able to finish within its lease
    zayavka.toml:17: `crm.connect_timeout` is 10s, out of range — 50ms to 3s
    zayavka.toml:19: `crm.secrets.token` is empty
    zayavka.toml:20: `crm.secrets.key` must be a string (in quotes), this is a whole number
    zayavka.toml:22: `crm.reconcile.looks` is 0, out of range — 1 to 100
    zayavka.toml:23: `crm.reconcile.on_absent` cannot be `create` — known here: review, resend
    zayavka.toml:25: `web.listen` is no address: `8080` — 127.0.0.1:8080
    zayavka.toml:27: `worker.concurrency` is 1000, out of range — 1 to 256
    zayavka.toml:28: `worker.tick` must be a duration, this is a whole number — a whole number and a unit in quotes: "500ms", "10s", "5m", "3h", "90d"
    zayavka.toml:30: `notices.created` cannot be `maybe` — known here: repeat, review, drop
    zayavka.toml:32: `retention.operations` is shorter than `retention.answers` — a repeated tap must still find its number: keep operations longest
    zayavka.toml:33: `retention.updates` is 1d, out of range — 2d to 36500d
    zayavka.toml:35: `log.format` cannot be `xml` — known here: text, json
    zayavka.toml:36: `log.filter` cannot be read: `a=b=c` — info, or zayavka=debug,info
    zayavka.toml:37: unknown key `extra` — known here: crm, database, limits, log, notices, pace, retention, staff, telegram, templates, web, worker
    zayavka.toml:39: `pace.burst` is 0, out of range — 1 to 1000
    zayavka.toml:40: unknown key `per_chatt` in [pace] — did you mean `per_chat`?
    "#);
}

#[test]
fn a_message_to_staff_whose_fate_is_unknown_is_no_case_of_its_own() {
    let text = "[notices]\nstaff_card = 'review'\nstaff_reply = 'review'\ncreated = 'review'\n";
    let config = Config::parse("zayavka.toml", text, &env(&[TOKEN])).unwrap_or_else(|problems| panic!("{problems}"));
    insta::assert_snapshot!(config.warnings.to_string(), @r"
    zayavka.toml: warning: nobody may decide cases — put numeric ids into owners or reviewers; until then cases wait
    zayavka.toml:2: warning: `notices.staff_card` cannot be `review`: no case is made of a message to staff — it is taken as `repeat`; write that, or `drop`
    zayavka.toml:3: warning: `notices.staff_reply` cannot be `review`: no case is made of a message to staff — it is taken as `repeat`; write that, or `drop`
    ");
    let policy = |kind| config.notices.on_unknown.of(kind);
    assert_eq!(policy(NoticeKind::StaffCard), OnUnknown::Repeat);
    assert_eq!(policy(NoticeKind::StaffReply), OnUnknown::Repeat);
    assert_eq!(policy(NoticeKind::Created), OnUnknown::Review);
}

#[test]
fn a_webhook_may_be_plain_http_only_near_by() {
    let with = |url: &str, api: &str| {
        let text = format!(
            "[telegram]\nreceive = 'webhook'\napi_url = '{api}'\n[telegram.webhook]\nsecret_token = 'a'\nurl = '{url}'\n"
        );
        Config::parse("c", &text, &env(&[TOKEN])).map(|config| match config.telegram.receive {
            Receive::Webhook(webhook) => webhook.path,
            Receive::Polling => unreachable!(),
        })
    };
    let (official, own) = ("https://api.telegram.org", "http://127.0.0.1:8081");
    for (url, api, path) in [
        ("https://bot.example.ru/t", official, Some("/t")),
        ("https://bot.example.ru:8443/a/b", official, Some("/a/b")),
        ("https://bot.example.ru:444/t", official, None),
        ("http://127.0.0.1:8080/t", own, Some("/t")),
        ("http://10.0.0.5/t", own, Some("/t")),
        ("http://[::1]:1/t", own, Some("/t")),
        ("http://bot:8080/t", own, Some("/t")),
        ("http://127.0.0.1/t", official, None),
        ("http://8.8.8.8/t", own, None),
        ("http://bot.example.ru/t", own, None),
        ("https://bot.example.ru/", own, None),
        ("https://bot.example.ru/metrics", own, None),
        ("ftp://bot.example.ru/t", own, None),
        ("bot.example.ru/t", own, None),
    ] {
        assert_eq!(with(url, api).ok().as_deref(), path, "{url}");
    }
}

#[test]
fn a_secret_comes_from_the_file_a_variable_or_the_file_it_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret");
    std::fs::write(&path, "7:from_file\n").unwrap();
    let path = path.to_str().unwrap();
    let token = |text: &str, variables: &[(&str, &str)]| {
        Config::parse("c", text, &env(variables)).map(|config| config.telegram.token.expose_secret().to_owned())
    };
    let inline = "[telegram]\ntoken = '1:inline'\n";
    let named = format!("[telegram]\ntoken_file = '{path}'\n");
    assert_eq!(token(inline, &[]).unwrap(), "1:inline");
    assert_eq!(token(&named, &[]).unwrap(), "7:from_file");
    assert_eq!(token(inline, &[TOKEN]).unwrap(), TOKEN.1);
    assert_eq!(token(&named, &[TOKEN]).unwrap(), TOKEN.1);
    assert_eq!(token(inline, &[("ZAYAVKA_TELEGRAM__TOKEN_FILE", path)]).unwrap(), "7:from_file");
    assert!(token(&format!("{inline}token_file = '{path}'\n"), &[]).is_err());
    assert!(token("[telegram]\ntoken_file = '/nowhere/at/all'\n", &[]).is_err());
    let crm = Config::parse(
        "c",
        "",
        &env(&[TOKEN, ("ZAYAVKA_CRM__SECRETS__API_KEY", "k"), ("ZAYAVKA_CRM__SECRETS__PIN_FILE", path)]),
    )
    .unwrap()
    .crm;
    assert_eq!(crm.secrets["api_key"].expose_secret(), "k");
    assert_eq!(crm.secrets["pin"].expose_secret(), "7:from_file");
}

#[test]
fn nothing_secret_is_shown() {
    let text = CONTRACT.replace("\"secret\"", "\"hunter2\"").replace("sqlite://zayavka.db", "postgres://u:hunter2@h/d");
    let shown = format!("{:#?}", Config::parse("c", &text, &BTreeMap::new()).unwrap());
    assert!(!shown.contains("hunter2") && !shown.contains("123456:TEST"), "{shown}");
}

#[test]
fn a_line_of_broken_syntax_is_told_once_and_hides_no_other_mistake() {
    let text = "[telegram]\ntoken = \"1:abc\nreceive = \"poling\"\n[staff]\nchat = \"x\"\nowners = [1]\n";
    insta::assert_snapshot!(refused(text, &[]), @r#"
    zayavka.toml:2: not valid TOML: invalid basic string, expected `"`
    zayavka.toml:3: `telegram.receive` cannot be `poling` — did you mean `polling`?
    zayavka.toml:5: `staff.chat` must be a whole number, this is a string
    "#);
}

#[test]
fn every_setting_knows_its_line() {
    let config = Config::parse("zayavka.toml", CONTRACT, &env(&[("ZAYAVKA_CRM__LEASE", "31s")])).unwrap();
    let line =
        |start: &str| CONTRACT.lines().position(|line| line.starts_with(start)).and_then(|n| u32::try_from(n + 1).ok());
    for (setting, start) in
        [("crm.profile", "profile"), ("crm.vars.base_url", "base_url"), ("crm.vars.queue", "[crm.vars]")]
    {
        assert_eq!(config.places.of(setting), ("zayavka.toml".to_owned(), line(start)), "{setting}");
    }
    assert_eq!(config.places.of("crm.lease"), ("environment ZAYAVKA_CRM__LEASE".to_owned(), None));
}

#[test]
fn a_second_person_needs_a_second_person() {
    let said = refused("[staff]\nowners = [1]\nsecond_person = true\n", &[TOKEN]);
    assert!(said.contains("zayavka.toml:3: `staff.second_person` needs two"), "{said}");
}

#[test]
fn days_of_work_are_named_by_three_letters() {
    let said = refused("[staff]\nowners = [1]\nworking_days = [\"mon\", \"monday\"]\n", &[TOKEN]);
    assert!(said.contains("zayavka.toml:3: `staff.working_days` has `monday`") && said.contains("mon, tue"), "{said}");
    let said = refused("[staff]\nowners = [1]\nworking_days = []\n", &[TOKEN]);
    assert!(said.contains("`staff.working_days` names no day"), "{said}");
}
