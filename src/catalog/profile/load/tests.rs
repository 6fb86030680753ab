use super::*;
use crate::catalog::profile::built_in;

fn said(text: &str) -> String {
    match load("crm.toml", text) {
        Ok((_, warnings)) => format!("loads\n{warnings}"),
        Err(problems) => problems.to_string(),
    }
}

/// The keyed profile with one passage replaced.
fn changed(from: &str, to: &str) -> String {
    let text = built_in::text("generic-keyed").expect("it ships");
    assert!(text.contains(from), "the profile has no `{from}`");
    said(&text.replacen(from, to, 1))
}

fn unplaced(said: &str) -> String {
    let after =
        |line: &str| line.trim_start_matches("crm.toml:").trim_start_matches(|c: char| c.is_ascii_digit()).to_owned();
    said.lines().map(|line| format!("crm.toml{}", after(line))).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_mistake_of_a_file_is_named_at_once_with_its_line() {
    let text = r#"on_absent = "resend"
on_absnet = "review"
[profile]
name = "My CRM"
promise = "blind"
evidence = [{ claim = "it works", source = "hearsay", date = "yesterday" }]
[vars.base_url]
type = "uri"
[vars.queue]
type = "enum"
help = "which queue"
[vars.spare]
type = "int"
default = "x"
pattern = "("
help = "nothing"
[secrets.Token]
help = "the token"
[auth]
kind = "oauth2_refresh"
[limits]
per_second = 0
[[step]]
name = "create"
when = "always"
[step.request]
method = "DELETE"
url = "{{ vars.bse_url }}/a b?x=1"
headers = { Content-Length = "5", "Bad Name" = "x" }
body_kind = "form"
body = { a = "{{ subjct }}", b = ["{{ secrets.token }}"], c = "{{ body | nosuch }}", d = 1979-05-27 }
[step.read]
id = ["a[", { path = "x", header = "y" }, { regex = "(" }]
[[step.outcome]]
status = [200, "2xx", "banana", 999]
where = [{ path = "a" }, { path = "b", exists = true, equals = 1 }]
is = "create"
[[step.outcome]]
is = "created"
[number]
pattern = ".*"
[link]
url = "/tickets/{{ id }}"
[[lookup]]
name = "x"
misses = 0
match = { path = "k", equals = "{{ marker }}" }
"#;
    insta::assert_snapshot!(said(text), @r#"
    crm.toml:2: unknown key `on_absnet` — did you mean `on_absent`?
    crm.toml:3: `profile.system` is missing — the product this is for
    crm.toml:4: `My CRM` cannot be a profile's name — small letters, digits and dashes
    crm.toml:6: `yesterday` is no date — "YYYY-MM-DD"
    crm.toml:7: warning: `base_url` is declared but nothing uses it — remove it
    crm.toml:8: `vars.base_url.type` cannot be `uri` — did you mean `url`?
    crm.toml:9: `vars.queue.values` is missing — the words to choose from
    crm.toml:9: warning: `queue` is declared but nothing uses it — remove it
    crm.toml:12: warning: `spare` is declared but nothing uses it — remove it
    crm.toml:14: the default is not allowed: it must be a whole number
    crm.toml:15: bad pattern: unclosed group — a regular expression for the whole value
    crm.toml:17: `Token` cannot be a name here — small letters, digits and underscores
    crm.toml:17: warning: `Token` is declared but nothing uses it — remove it
    crm.toml:19: `auth.refresh_secret` is missing — the name of a secret declared under [secrets]
    crm.toml:22: `limits.per_second` must be a number of requests a second — 0.001 to 10000
    crm.toml:23: `step[1].outcome` is missing — [[step.outcome]] status = [200, 201], is = "created"
    crm.toml:25: `step[1].when` uses `always`, which has no value here — no such name here; remove it, or look it up in the documentation
    crm.toml:25: `when` has no meaning for the ticket's own step — remove it
    crm.toml:27: `step[1].request.method` cannot be `DELETE` — known here: GET, POST, PUT, PATCH
    crm.toml:28: `step[1].request.url` has a query — parameters go into the table `query`
    crm.toml:28: `step[1].request.url` uses `vars.bse_url`, which has no value here — did you mean `vars.base_url`?
    crm.toml:29: the header `Content-Length` is not the profile's to set — remove it
    crm.toml:29: `Bad Name` cannot be a header's name — letters, digits and dashes
    crm.toml:31: `step[1].request.body.a` uses `subjct`, which has no value here — did you mean `subject`?
    crm.toml:31: a form field cannot hold a tree — body_kind = "form_json" writes it as JSON text
    crm.toml:31: `step[1].request.body.b[1]` uses `secrets.token`, which has no value here — a request is stored before it is sent, so secrets join it only through [auth]
    crm.toml:31: `step[1].request.body.c` is no template: unknown filter: filter nosuch is unknown
    crm.toml:31: a date has no form in a body — put it in quotes
    crm.toml:33: `step[1].read.id[1]` is no path: `[` has no `]` — such as `result.items[0].id`
    crm.toml:33: either `path` or `header`, not both — two sources are two entries of the list
    crm.toml:33: `step[1].read.id[3].path` is missing — either `path` or `header`
    crm.toml:33: bad pattern: unclosed group — a regular expression
    crm.toml:35: `banana` is no status — 201, "2xx", "500-504", "any"
    crm.toml:35: `step[1].outcome[1].status[4]` is 999, out of range — 100 to 599
    crm.toml:36: a condition holds exactly one test — one of `exists`, `equals`, `in`, `matches`, `contains`
    crm.toml:36: a condition holds exactly one test — one of `exists`, `equals`, `in`, `matches`, `contains`
    crm.toml:37: `step[1].outcome[1].is` cannot be `create` — did you mean `created`?
    crm.toml:38: `step[1].outcome[2].status` is missing — a status, a list of them, "2xx", "500-504" or "any"
    crm.toml:41: an empty number fits this pattern — ask for at least one character
    crm.toml:43: `link.url` has no address at its beginning — begin with a variable of type url, "{{ vars.base_url }}/…", or with https://
    crm.toml:44: `lookup[1].request` is missing — what is sent: method, url, query, headers, body
    crm.toml:44: `lookup[1].read.id` is missing — where a record holds its id
    crm.toml:46: `lookup[1].misses` is 0, out of range — 1 to 100
    crm.toml:47: a match that does not hold our key matches anybody's record — use ext.uuid or ext.token
    "#);
}

#[test]
fn a_promise_needs_its_proof() {
    let text = built_in::text("generic-keyed").expect("it ships");
    // The lines are those of the shipped file, which may grow; that they are named is tested above.
    let said = |text: &str| unplaced(&said(text));
    let changed = |from: &str, to: &str| unplaced(&changed(from, to));
    let evidence =
        &text[text.find("[[profile.evidence]]").expect("there")..text.find("[vars.base_url]").expect("there")];
    let lookup = &text[text.find("[[lookup]]").expect("there")..text.find("[verify]").expect("there")];
    insta::assert_snapshot!(changed(evidence, ""), @"crm.toml: `keyed` is claimed without evidence — [[profile.evidence]] claim, source, date: where it is known that a repeat makes nothing new");
    insta::assert_snapshot!(changed("repeat = \"returns_existing\"", "repeat = \"duplicates\""), @r#"crm.toml: `keyed` is claimed, but a repeat makes another ticket — [dedupe] repeat = "returns_existing", "refused" or "updates""#);
    insta::assert_snapshot!(changed("repeat = \"returns_existing\"", "repeat = \"refused\""), @r#"crm.toml: a repeat is refused, but no rule knows that refusal — [[step.outcome]] … is = "exists" for the answer to a repeat"#);
    let searchable = built_in::text("generic-searchable").expect("it ships");
    insta::assert_snapshot!(said(&searchable.replacen("external_id = \"{{ ext.uuid }}\"\n", "", 1)), @"crm.toml: the request does not carry our key — put ext.uuid or ext.token where the CRM keeps it");
    insta::assert_snapshot!(said(&text.replace("\"keyed\"", "\"searchable\"").replace(lookup, "")), @"crm.toml: `searchable` is claimed without a lookup — write a [[lookup]], or claim `blind`");
    insta::assert_snapshot!(said(&text.replace("\"keyed\"", "\"blind\"").replace("\"review\"", "\"resend\"")), @r#"crm.toml: a blind profile can never send again by itself — absence cannot be proved here: on_absent = "review""#);
    insta::assert_snapshot!(changed("match = { path = \"external_id\", equals = \"{{ ext.uuid }}\" }\n", ""), @"crm.toml: `lookup[1].match` is missing — a record counts only if it carries our key: match = { path = …, equals = … }");
    insta::assert_snapshot!(changed("results = \"items\"\n", ""), @r#"crm.toml: this lookup can never say that there is no record — results = "items" for a list, or a rule that is "not_found""#);
    insta::assert_snapshot!(changed("id = \"id\"\nnumber = \"number\"\n", "number = \"number\"\n"), @r#"crm.toml: a ticket is created, but nothing reads its id — [step.read] id = ["id"]"#);
    insta::assert_snapshot!(changed("max_len = 64", "max_len = 32"), @r"
    crm.toml: our key has 36 characters, the field holds 32 — a shorter form of the key, or the true length of the field in [ext] max_len
    crm.toml: our key has 36 characters, the field holds 32 — a shorter form of the key, or the true length of the field in [ext] max_len
    ");
}

#[test]
fn a_rule_behind_a_wider_one_is_found() {
    let rule = |status: &str, rest: &str| {
        format!("[[step.outcome]]\nstatus = {status}\n{rest}\nis = \"ambiguous\"\n\n[number]")
    };
    let condition = "where = [{ path = \"message\", exists = true }, { path = \"a\", equals = 1 }]";
    for (status, rest) in [("201", ""), ("[200, 401]", ""), ("[401, 403]", condition), ("422", condition)] {
        let said = changed("[number]", &rule(status, rest));
        assert!(said.contains("this rule is never reached"), "{status} {rest}: {said}");
    }
    for (status, rest) in [("\"any\"", ""), ("[200, 402]", ""), ("422", ""), ("503", "")] {
        assert_eq!(changed("[number]", &rule(status, rest)), "loads\n", "{status} {rest}");
    }
}

#[test]
fn a_profile_that_uses_the_whole_format_loads() {
    let text = r#"
[profile]
name = "whole"
system = "Everything"
promise = "searchable"

[vars]
sub = { type = "string", pattern = "[a-z0-9-]+", help = "h" }
field = { type = "int", default = 12, help = "h" }
kind = { type = "enum", values = ["lead", "deal"], default = "lead", help = "h" }
email = { required = false, help = "h" }

[secrets.hook]
help = "h"

[auth]
kind = "path"
secret = "hook"

[ext]
token_prefix = "tg"
max_len = 34

[limits]
per_second = 0.4
burst = 2

[[step]]
name = "create"

[step.request]
method = "POST"
url = "https://{{ vars.sub }}.crm.example/rest/1/{auth}/{{ vars.kind }}/add.json"
query = { "filter[{{ vars.field }}][]" = "{{ ext.token }}" }
headers = { X-Org-ID = "{{ vars.email }}" }
body_kind = "json_array"

[[step.request.body]]
title = "{{ subject | chars(250) }}"
comment = "{{ body | html_lines }}"
fixed = [1, true, 2.5, "", []]
"cf_{{ vars.field }}" = "{{ ext.token }}"
custom = "{{ [{'id': vars.field, 'value': ext.token}] + (fields | pairs('id', 'value', true)) }}"
fm = [{ type = "PHONE", value = "{{ contact.phone | digits }}" }, { type = "EMAIL", value = "{{ contact.email }}" }]

[step.read]
id = ["result.item.id", "result", { header = "Location", regex = "/([0-9]+)$" }, { path = "message", regex = "ID: ([0-9]+)" }]
echo = "custom[id={{ vars.field }}].value"
message = ["error_description", "errors"]
wait_until = "time.operating_reset_at"

[[step.outcome]]
status = "any"
where = [{ path = "error", exists = true }, { path = "error", in = ["QUERY_LIMIT_EXCEEDED", "OPERATION_TIME_LIMIT"] }]
is = "throttled"
wait = "2s"
[[step.outcome]]
status = 409
where = [{ header = "X-Status-Reason", equals = "duplicate" }, { body_contains = "{{ ext.token }}" }]
is = "exists"
[[step.outcome]]
status = ["200-299"]
where = [{ path = "error", exists = false }]
is = "created"

[number]
pattern = "[0-9]{1,12}"

[link]
url = "https://{{ vars.sub }}.crm.example/crm/details?x={{ id }}#lead/{{ number }}"

[[lookup]]
name = "direct"
request = { url = "https://{{ vars.sub }}.crm.example/rest/1/{auth}/get/{{ ext.token }}" }
outcome = [{ status = 200, is = "answer" }, { status = 404, where = [{ path = "error", matches = "(?i)not.found" }], is = "not_found" }]
match = { path = ["custom[id={{ vars.field }}].value", "origin"], equals = "{{ ext.token }}", ignore_case = true }
read = { id = "id" }

[[lookup]]
name = "search"
request = { method = "POST", url = "https://{{ vars.sub }}.crm.example/rest/1/{auth}/search", body_kind = "form_json", body = { q = "CF.{Ref} = {{ ext.token | ticket_sql }}", filter = { a = ["{{ ext.token }}"] } } }
results = "tickets"
unrelated = "ignore"
match = { path = "origin", equals = "{{ ext.token }}" }
read = { id = "id" }
settle_after = "10m"
misses = 5
spacing = "1m"
"#;
    assert_eq!(said(text), "loads\n");
}

/// The keyed profile with a step before the ticket's own.
fn with_step(step: &str) -> String {
    changed("[[step]]\nname = \"create\"", &format!("[[step]]\n{step}\n[[step]]\nname = \"create\""))
}

#[test]
fn steps_stand_in_an_order_and_say_what_becomes_of_a_lost_answer() {
    let request = "request = { url = \"{{ vars.base_url }}/c\", body = { k = \"{{ ext.token }}\" } }";
    let made = "read = { id = \"id\" }\noutcome = [{ status = 201, is = \"created\" }]";
    for (step, wanted) in [
        (
            format!("name = \"contact\"\nkind = \"make\"\n{request}\n{made}"),
            "nothing says what to do when this step's answer is lost",
        ),
        (
            format!(
                "name = \"contact\"\nkind = \"make\"\nagain = true\n{request}\noutcome = [{{ status = 201, is = \"created\" }}]"
            ),
            "nothing reads its id",
        ),
        (
            format!("name = \"create\"\nkind = \"make\"\nagain = true\n{request}\n{made}"),
            "two steps are called `create`",
        ),
        (format!("name = \"other\"\n{request}\n{made}"), "a second step makes a ticket"),
        (
            format!("name = \"again\"\nkind = \"read\"\n{request}\nread = {{ number = \"n\" }}"),
            "it reads a ticket that is not made yet",
        ),
        (format!("name = \"Contact\"\nkind = \"make\"\nagain = true\n{request}\n{made}"), "cannot be a step's name"),
        (
            format!("name = \"c\"\nkind = \"make\"\nagain = true\nwhen = \"contact.phone and\"\n{request}\n{made}"),
            "is no condition",
        ),
        (
            format!("name = \"c\"\nkind = \"make\"\nagain = true\nwhen = \"steps.find.id\"\n{request}\n{made}"),
            "uses `steps.find.id`, which has no value here",
        ),
        (format!("name = \"f\"\nkind = \"find\"\n{request}"), "a record is looked for, but nothing reads its id"),
    ] {
        let said = with_step(&step);
        assert!(said.contains(wanted), "{step}\n\n{said}");
    }
    let well = with_step(&format!(
        "name = \"contact\"\nkind = \"make\"\nagain = true\nwhen = \"contact.phone\"\n{request}\n{made}"
    ));
    assert_eq!(well, "loads\n");
}

#[test]
fn a_lookup_waits_for_what_may_still_come_and_a_token_needs_a_rule_for_its_end() {
    let early = changed("settle_after = \"2m\"", "settle_after = \"2m\"\nlag = \"90s\"");
    assert!(early.contains("a miss counts after 120s, but something may still appear for 150s"), "{early}");
    let scan = changed("results = \"items\"", "scan = { pages = 3 }");
    assert!(scan.contains("`lookup[1].scan.size` is missing") || scan.contains("scan.size"), "{scan}");
    let token = changed(
        "kind = \"bearer\"\nsecret = \"token\"",
        "kind = \"oauth2_client_credentials\"\ntoken_url = \"{{ vars.base_url }}/t\"\nclient_secret = \"{{ secrets.token }}\"",
    );
    assert_eq!(token, "loads\n");
    let text = built_in::text("generic-keyed").expect("it ships");
    let text = text.replace("kind = \"bearer\"\nsecret = \"token\"", "kind = \"session_login\"\ntoken = \"t\"\nheader = \"S\"\nrequest = { url = \"{{ vars.base_url }}/t\", headers = { A = \"{{ secrets.token }}\" } }");
    let without = said(&text.replacen("[[step.outcome]]\nstatus = [401, 403]\nis = \"auth\"\n", "", 1));
    assert!(without.contains("no rule says what it means that the token has ended"), "{without}");
}

#[test]
fn files_need_a_way_to_the_ticket_and_the_ticket_a_word_for_them() {
    let text = built_in::text("generic-searchable").expect("it ships");
    let with = |ticket: &str, way: &str| {
        let text = text.replacen(
            "external_id = \"{{ ext.uuid }}\"",
            &format!("external_id = \"{{{{ ext.uuid }}}}\"\n{ticket}"),
            1,
        );
        said(&format!("{text}\n[attachments]\n{way}\n"))
    };
    let files = "files = \"{{ files | each({'n': 'name', 'c': 'content'}) }}\"";
    assert_eq!(with(files, "kind = \"inline_base64\"\nmax_size = 5\ntypes = [\"image/*\"]"), "loads\n");
    assert!(with("", "kind = \"inline_base64\"").contains("its request does not name `files`"));
    assert!(with(files, "kind = \"none\"").contains("the request names `files`, but no file goes with it"));
    assert!(with(files, "max_size = 5").contains("`attachments.kind` is missing"));
    let request = "request = { url = \"{{ vars.base_url }}/u\", body_kind = \"file\" }";
    let good = "outcome = [{ status = 201, is = \"created\" }]";
    let upload = |more: &str| with(files, &format!("kind = \"upload_then_token\"\n{more}"));
    assert_eq!(upload(&format!("{request}\n{good}\nread = {{ id = \"token\" }}\ntoken_lives = \"50m\"")), "loads\n");
    assert!(upload(&format!("{request}\n{good}")).contains("`attachments.read` is missing"));
    assert!(upload(&format!("{request}\nread = {{ id = \"token\" }}")).contains("`attachments.outcome` is missing"));
    let empty = request.replace(", body_kind = \"file\"", "");
    assert!(
        upload(&format!("{empty}\n{good}\nread = {{ id = \"token\" }}"))
            .contains("the request does not carry the file")
    );
    let astray = request.replace(", body_kind", ", query = { c = \"{{ file.content }}\" }, body_kind");
    assert!(
        upload(&format!("{astray}\n{good}\nread = {{ id = \"token\" }}")).contains("content stands outside the body")
    );
    let early = request.replace("/u\"", "/u/{{ id }}\"");
    assert!(
        upload(&format!("{early}\n{good}\nread = {{ id = \"token\" }}")).contains("uses `id`, which has no value here")
    );
    let after = |more: &str| with("", &format!("kind = \"after_create_post\"\n{more}\n{good}"));
    assert_eq!(after(&early), "loads\n");
    assert!(after(&format!("required = true\n{early}")).contains("the ticket is there before its files"));
    let form = early.replace("body_kind = \"file\"", "body_kind = \"form\", body = { f = \"{{ file.content }}\" }");
    assert!(after(&form).contains("a form cannot carry the file"), "{}", after(&form));
}

/// The searchable profile with one passage replaced: what is said of it, without lines.
fn altered(from: &str, to: &str) -> String {
    let text = built_in::text("generic-searchable").expect("it ships");
    assert!(text.contains(from), "the profile has no `{from}`");
    said(&text.replacen(from, to, 1))
}

#[test]
fn what_could_never_be_heard_is_found() {
    let answer = |table: &str| format!("[[{table}.outcome]]\nstatus = 200\nis = \"answer\"\n");
    let ask = "[[prerequisite]]\ntext = \"t\"\nrequest = { url = \"{{ vars.base_url }}/x\" }\n";
    for (from, to, wanted) in [
        (answer("lookup"), String::new(), "no rule says which answer counts"),
        (answer("verify"), String::new(), "no rule says which answer counts"),
        (
            "[number]".to_owned(),
            format!("{ask}outcome = [{{ status = 200, is = \"not_found\" }}]\n[number]"),
            "no rule says which answer counts",
        ),
        (
            "[number]".to_owned(),
            "[[prerequisite]]\ntext = \"t\"\noutcome = [{ status = 200, is = \"answer\" }]\n[number]".to_owned(),
            "nothing is asked that these rules could judge",
        ),
        (
            "match = { path = \"external_id\", equals = \"{{ ext.uuid }}\" }".to_owned(),
            "match = { path = \"external_id\", equals = \"{{ ext.token }}\" }".to_owned(),
            "it compares with `ext.token`, but what is sent carries `ext.uuid`",
        ),
        ("match = { path = \"external_id\"".to_owned(), "match = { path = []".to_owned(), "no place is named"),
        (
            "[number]".to_owned(),
            "[[step.outcome]]\nstatus = 418\nwhere = [{ path = \"a\", exists = false }, { path = \"a.b\", equals = 1 }]\nis = \"refused\"\n[number]".to_owned(),
            "no answer can ever fit this rule",
        ),
        (
            "[number]".to_owned(),
            "[[step.outcome]]\nstatus = \"5xx\"\nis = \"not_executed\"\n[number]".to_owned(),
            "HTTP 500, 502, 504-599 proves nothing by itself",
        ),
    ] {
        let said = altered(&from, &to);
        assert!(said.contains(wanted) && said.starts_with("crm.toml:"), "{to}\n\n{said}");
    }
}

#[test]
fn a_record_is_found_only_by_what_is_the_persons_own() {
    let request = "request = { url = \"{{ vars.base_url }}/c\", query = { q = \"{{ contact.phone }}\" } }";
    let find =
        |more: &str| with_step(&format!("name = \"contact\"\nkind = \"find\"\n{request}\nresults = \"items\"\n{more}"));
    let read = "read = { id = \"id\" }";
    assert!(find(read).contains("would give us anybody's record"), "{}", find(read));
    let constant = find(&format!("{read}\nmatch = {{ path = \"kind\", equals = \"person\" }}"));
    assert!(constant.contains("every record of the CRM could fit this match"), "{constant}");
    let phone = "match = { path = \"phone\", equals = \"{{ contact.phone }}\", digits = true }";
    assert_eq!(find(&format!("{read}\n{phone}")), "loads\n");
    assert_eq!(find("read = { id = \"$\" }"), "loads\n", "bare ids show nothing to compare");
    let keyless = with_step(&format!(
        "name = \"contact\"\nkind = \"make\"\n{request}\n{read}\noutcome = [{{ status = 201, is = \"created\" }}]\n\
         lookup = {{ name = \"l\", request = {{ url = \"{{{{ vars.base_url }}}}/c\" }}, results = \"items\", \
         match = {{ path = \"k\", equals = \"{{{{ ext.uuid }}}}\" }}, read = {{ id = \"id\" }} }}",
    ));
    assert!(keyless.contains("the step does not send its own key"), "{keyless}");
    let made = with_step(
        "name = \"contact\"\nkind = \"make\"\nrequest = { url = \"{{ vars.base_url }}/c\", body = { k = \"{{ ext.token }}\" } }\n\
         read = { id = \"id\" }\noutcome = [{ status = 201, is = \"created\" }]\n\
         lookup = { name = \"l\", request = { url = \"{{ vars.base_url }}/c\", query = { k = \"{{ ext.uuid }}\" } }, \
         results = \"items\", match = { path = \"k\", equals = \"{{ ext.uuid }}\" }, read = { id = \"id\" }, settle_after = \"5s\" }",
    );
    assert!(made.contains("it compares with `ext.uuid`, but what is sent carries `ext.token`"), "{made}");
    assert!(made.contains("a miss counts after 5s"), "{made}");
}

#[test]
fn every_request_goes_to_an_address_with_the_profiles_credentials() {
    for (from, to, wanted) in [
        ("[vars.base_url]\ntype = \"url\"", "[vars.base_url]\ntype = \"string\"", "is no variable of type url"),
        ("url = \"{{ vars.base_url }}/tickets\"", "url = \"https://u:p@crm.ru/t\"", "a user or password stands"),
        (
            "[step.request]",
            "[step.request]\nheaders = { Authorization = \"Bearer abc\" }",
            "the header `authorization` carries credentials",
        ),
        (
            "[number]",
            "[[prerequisite]]\ntext = \"t\"\nrequest = { url = \"{{ vars.base_url }}/{auth}\" }\noutcome = [{ status = 200, is = \"answer\" }]\n[number]",
            "{auth} stands in the path",
        ),
        (
            "[number]",
            "[cleanup.request]\nmethod = \"GET\"\nurl = \"{{ vars.base_url }}/t/{{ id }}\"\n[number]",
            "`cleanup.request.method` cannot be `GET`",
        ),
        ("[number]", "[cleanup.request]\nurl = \"{{ vars.base_url }}/t\"\n[number]", "which record is taken away"),
        (
            "[vars.base_url]",
            "[vars.x]\nhelp = \"h\"\nvalues = [\"a\"]\n[vars.base_url]",
            "only a variable of type enum",
        ),
        ("[secrets.token]", "[secrets.token]\nlives = \"90d\"\nexpires = \"jwt\"", "told in two ways"),
    ] {
        let said = altered(from, to);
        assert!(said.contains(wanted) && said.starts_with("crm.toml:"), "{to}\n\n{said}");
    }
    let lookup = built_in::text("generic-searchable").expect("it ships");
    let lookup = &lookup[lookup.find("[[lookup]]").expect("there")..lookup.find("[verify]").expect("there")];
    assert!(altered("[verify]", &format!("{lookup}[verify]")).contains("two lookups are called"));
    for (pattern, wanted) in [
        (".+", "any text fits this pattern"),
        ("[^\\\\n]{1,40}", "any text fits this pattern"),
        ("[0-9]+", "loads"),
        ("№? ?[0-9]{1,6}/[0-9]{4}", "loads"),
    ] {
        let text = built_in::text("generic-searchable").expect("it ships");
        let line = text.lines().find(|line| line.starts_with("pattern = ")).expect("there");
        let said = altered(line, &format!("pattern = \"{pattern}\""));
        assert!(said.contains(wanted), "{pattern}: {said}");
    }
    let text = built_in::text("generic-keyed").expect("it ships");
    let (_, rest) = text.split_once("date = \"").expect("there");
    let known = rest.get(..10).expect("a date");
    for (date, wanted) in [
        ("2026-02-30", "`2026-02-30` is no date"),
        ("2026-13-01", "is no date"),
        ("2025-02-29", "is no date"),
        ("0000-00-00", "is no date"),
        ("2024-02-29", "loads"),
    ] {
        let said = changed(known, date);
        assert!(said.contains(wanted), "{date}: {said}");
    }
}

#[test]
fn parts_of_a_form_need_a_file_and_a_body_with_fields() {
    let text = built_in::text("generic-searchable").expect("it ships");
    let with = |way: &str| said(&format!("{text}\n[attachments]\nkind = \"multipart\"\n{way}\n"));
    let parts = "parts = { \"files[{{ file.index }}]\" = \"{{ file.content }}\", \"names[]\" = \"{{ file.name }}\" }";
    assert_eq!(with(parts), "loads\n");
    assert!(with("").contains("`attachments.parts` is missing"), "{}", with(""));
    let none = with("parts = { \"names[]\" = \"{{ file.name }}\" }");
    assert!(none.contains("no part is the file"), "{none}");
    let inside = with("parts = { \"f[]\" = \"data:{{ file.content }}\" }");
    assert!(inside.contains("no part is the file"), "{inside}");
    let named = with("parts = { \"{{ file.content }}\" = \"{{ file.content }}\" }");
    assert!(named.contains("stands in a part's name"), "{named}");
    let order = with("parts = { \"f[]\" = \"{{ file.content }}\", s = \"{{ subject }}\" }");
    assert!(order.contains("uses `subject`, which has no value here"), "{order}");
    let lives = with(&format!("{parts}\ntoken_lives = \"5m\""));
    assert!(lives.contains("there is no upload here"), "{lives}");
    let step = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        said(&format!("{}\n[attachments]\nkind = \"multipart\"\n{parts}\n", text.replacen(from, to, 1)))
    };
    assert_eq!(step("body_kind = \"json\"", "body_kind = \"multipart\""), "loads\n");
    let list = step("body_kind = \"json\"", "body_kind = \"json_array\"");
    assert!(list.contains("no fields beside which files could go"), "{list}");
    let typed = step("body_kind = \"json\"", "body_kind = \"json\"\nheaders = { Content-Type = \"application/x\" }");
    assert!(typed.contains("a media type of its own"), "{typed}");
    let twice = step("external_id = \"{{ ext.uuid }}\"", "external_id = \"{{ ext.uuid }}\"\nf = \"{{ files }}\"");
    assert!(twice.contains("but they go beside its fields"), "{twice}");
    // Addresses come out of an upload's answer, and nowhere else.
    let ticket = text.replacen(
        "external_id = \"{{ ext.uuid }}\"",
        "external_id = \"{{ ext.uuid }}\"\nurls = \"{{ files | each('url') }}\"",
        1,
    );
    let request = "request = { url = \"{{ vars.base_url }}/u\", body_kind = \"file\" }\noutcome = [{ status = 201, is = \"created\" }]";
    let urls = |read: &str| said(&format!("{ticket}\n[attachments]\nkind = \"url_list\"\n{request}\n{read}\n"));
    assert_eq!(urls("read = { url = \"file.url\" }\ntoken_lives = \"1h\""), "loads\n");
    assert!(urls("").contains("where the answer to an upload holds the file's address"), "{}", urls(""));
    assert!(urls("read = { id = \"id\" }").contains("nothing reads its address"), "{}", urls("read = { id = \"id\" }"));
}

#[test]
fn what_no_lookup_sees_lets_nothing_be_sent_again() {
    let text = built_in::text("generic-searchable").expect("it ships");
    let with = |sees: &str| {
        let text = text.replacen("on_absent = \"review\"", "on_absent = \"resend\"", 1);
        said(&text.replacen("sees_closed = true", sees, 1))
    };
    assert_eq!(with("sees_closed = true\nsees_archived = true\nsees_merged = true"), "loads\n");
    assert_eq!(with("sees_closed = true"), "loads\n");
    for (sees, spots) in [
        ("", "closed"),
        ("sees_closed = false", "closed"),
        ("sees_closed = true\nsees_archived = false", "archived"),
        ("sees_archived = false\nsees_merged = false", "closed and archived and merged"),
    ] {
        let told = with(sees);
        assert!(
            told.starts_with("crm.toml:") && told.contains(&format!("no lookup is known to see {spots} tickets")),
            "{told}"
        );
    }
    let second = text.find("[[lookup]]").zip(text.find("[verify]")).map(|(from, to)| text[from..to].to_owned());
    let second = second.expect("a lookup").replacen("by-external-id", "archive", 1);
    let both = text
        .replacen("on_absent = \"review\"", "on_absent = \"resend\"", 1)
        .replacen("sees_closed = true", "sees_closed = true\nsees_archived = false", 1)
        .replacen("[verify]", &format!("{}[verify]", second.replacen("sees_closed", "sees_archived", 1)), 1);
    assert_eq!(said(&both), "loads\n", "one of them sees the archive");
    assert!(altered("sees_closed = true", "sees_closed = \"yes\"").contains("sees_closed` must be true or false"));
    assert!(altered("sees_closed = true", "sees_deleted = true").contains("unknown key `sees_deleted`"));
}

#[test]
fn evidence_says_how_far_it_can_be_relied_on() {
    let text = built_in::text("generic-keyed").expect("it ships");
    let with =
        |word: &str| said(&text.replace("\ndate = \"2026", &format!("\nconfidence = \"{word}\"\ndate = \"2026")));
    assert_eq!(with("measured"), "loads\n");
    assert!(with("general").contains("`keyed` is claimed, but nobody has looked it up"), "{}", with("general"));
    assert!(with("certain").contains("confidence"), "{}", with("certain"));
}

#[test]
fn budgets_hold_what_one_ticket_costs_and_do_not_contradict_each_other() {
    let limits = |more: &str| altered("[limits]", &format!("[limits]\n{more}"));
    assert_eq!(limits("per_minute = 30\nper_hour = 900\nper_day = 5000"), "loads\n");
    assert!(limits("per_minute = 0").contains("per_minute"), "{}", limits("per_minute = 0"));
    let odd = limits("per_minute = 30\nper_day = 20");
    assert!(odd.contains("are fewer than the 30 of `per_minute`"), "{odd}");
    let dear = altered("[limits]\n", "[limits]\nper_hour = 4\n");
    assert_eq!(dear, "loads\n");
    let text = built_in::text("generic-searchable").expect("it ships");
    let text = text.replacen("[limits]\n", "[limits]\nper_hour = 4\n", 1);
    let dear = said(&text.replacen("name = \"create\"", "name = \"create\"\ncost = 5", 1));
    assert!(dear.contains("one ticket counts for 5 requests, only 4 may go"), "{dear}");
}

#[test]
fn a_time_of_its_own_and_an_end_of_session_are_said_rightly() {
    assert_eq!(altered("name = \"create\"", "name = \"create\"\ntimeout = \"40s\""), "loads\n");
    assert_eq!(altered("name = \"by-external-id\"", "name = \"by-external-id\"\ntimeout = \"3s\""), "loads\n");
    assert!(altered("name = \"create\"", "name = \"create\"\ntimeout = \"1ms\"").contains("timeout"));
    let login = |more: &str| {
        let auth = "kind = \"session_login\"\ntoken = \"t\"\nheader = \"S\"\n\
                    request = { url = \"{{ vars.base_url }}/t\", headers = { A = \"{{ secrets.token }}\" } }\n";
        altered("kind = \"bearer\"\nsecret = \"token\"", &format!("{auth}{more}"))
    };
    let ended = "where = [{ path = \"error\", equals = \"session_expired\" }]";
    assert_eq!(login(&format!("relogin_on = [{{ status = [200, 403], {ended} }}]")), "loads\n");
    for status in ["403", "[401, 500]", "\"any\""] {
        let bare = login(&format!("relogin_on = [{{ status = {status} }}]"));
        assert!(bare.contains("does not prove that the session has ended"), "{bare}");
    }
    let odd = login(&format!("relogin_on = [{{ status = 403, {ended}, is = \"auth\" }}]"));
    assert!(odd.contains("unknown key `is`"), "{odd}");
    let bearer =
        altered("secret = \"token\"", &format!("secret = \"token\"\nrelogin_on = [{{ status = 403, {ended} }}]"));
    assert!(bearer.contains("unknown key `relogin_on` in [auth]"), "{bearer}");
}
