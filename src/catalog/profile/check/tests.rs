//! Profiles that read well and would do harm: each is refused at its line.

use crate::catalog::profile::{built_in, load};

/// What is said of a shipped profile with these passages replaced.
fn said(name: &str, changes: &[(&str, &str)]) -> String {
    let mut text = built_in::text(name).expect("it ships").to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{name} has no `{from}`");
        text = text.replacen(from, to, 1);
    }
    match load("crm.toml", &text) {
        Ok((_, warnings)) => format!("loads\n{warnings}"),
        Err(problems) => problems.to_string(),
    }
}

/// The searchable profile with one passage replaced.
fn altered(from: &str, to: &str) -> String {
    said("generic-searchable", &[(from, to)])
}

/// A further rule as the last of the create's, of the lookup's.
fn with_rule(before: &str, table: &str, rule: &str) -> String {
    altered(before, &format!("[[{table}.outcome]]\n{rule}\n\n{before}"))
}

fn is_refused(said: &str, wanted: &str, case: &str) {
    let line = said.lines().find(|line| line.contains(wanted));
    let placed =
        line.and_then(|line| line.strip_prefix("crm.toml:")).is_some_and(|rest| rest.starts_with(char::is_numeric));
    assert!(placed && line.is_some_and(|line| line.contains(" — ")), "{case}\n\n{said}");
}

#[test]
fn a_status_alone_says_nothing_of_what_was_done() {
    let shown = "where = [{ path = \"message\", exists = true }]";
    for (rule, wanted) in [
        ("status = \"2xx\"\nis = \"not_executed\"", "HTTP 200-299 proves nothing by itself"),
        ("status = [\"2xx\", 402]\nis = \"auth\"", "HTTP 200-299 proves nothing"),
        ("status = [202, 402]\nis = \"refused\"", "HTTP 202 proves nothing"),
        ("status = \"3xx\"\nis = \"refused\"", "HTTP 300-399 proves nothing"),
        ("status = [408, 420]\nis = \"throttled\"", "HTTP 408 proves nothing"),
        ("status = \"520-524\"\nis = \"throttled\"", "HTTP 520-524 proves nothing"),
        ("status = \"5xx\"\nis = \"not_executed\"", "HTTP 500, 502, 504-599 proves nothing"),
        ("status = [500, 418]\nis = \"in_flight\"", "HTTP 500 proves nothing"),
        ("status = [300, 301]\nis = \"created\"", "HTTP 300-301 proves nothing"),
        // These hold of a page of anybody's as well.
        ("status = \"5xx\"\nwhere = [{ header = \"Content-Type\", exists = true }]\nis = \"not_executed\"", "HTTP 500"),
        ("status = 202\nwhere = [{ path = \"error\", exists = false }]\nis = \"not_executed\"", "HTTP 202"),
        ("status = 500\nwhere = [{ path = \"$\", exists = true }]\nis = \"not_executed\"", "HTTP 500"),
    ] {
        is_refused(&with_rule("[number]", "step", rule), wanted, rule);
    }
    for rule in [
        "status = [400, 402, 404, 501, 503]\nis = \"not_executed\"".to_owned(),
        format!("status = [\"2xx\", \"5xx\", 408]\n{shown}\nis = \"not_executed\""),
        "status = \"5xx\"\nwhere = [{ body_contains = \"QUERY_LIMIT_EXCEEDED\" }]\nis = \"throttled\"".to_owned(),
        "status = \"5xx\"\nis = \"ambiguous\"".to_owned(),
        "status = [202, 423]\nis = \"in_flight\"".to_owned(),
    ] {
        assert_eq!(with_rule("[number]", "step", &rule), "loads\n", "{rule}");
    }
}

#[test]
fn a_status_alone_is_no_absence() {
    let shown = "where = [{ path = \"message\", exists = true }]";
    for (rule, wanted) in [
        ("status = [404, \"5xx\"]\nis = \"not_found\"", "HTTP 500-599 does not say by itself"),
        ("status = \"any\"\nis = \"not_found\"", "HTTP 100-203, 205-403, 405-409, 411-599 does not say by itself"),
        ("status = \"4xx\"\nwhere = [{ path = \"items\", exists = false }]\nis = \"not_found\"", "HTTP 400-403"),
        ("status = [206, 500]\nis = \"answer\"", "HTTP 500 is no answer by itself"),
    ] {
        for (before, table) in [("[verify]", "lookup"), ("[dedupe]", "verify")] {
            is_refused(&with_rule(before, table, rule), wanted, rule);
        }
        let find = format!(
            "[[step]]\nname = \"contact\"\nkind = \"find\"\nrequest = {{ url = \"{{{{ vars.base_url }}}}/c\" }}\n\
             read = {{ id = \"$\" }}\n[[step.outcome]]\nstatus = 200\nis = \"answer\"\n[[step.outcome]]\n{rule}\n\n[[step]]"
        );
        is_refused(&altered("[[step]]", &find), wanted, &find);
        let lookup = "name = \"l\"\nrequest = { url = \"{{ vars.base_url }}/c\", query = { k = \"{{ ext.uuid }}\" } }\n\
                      results = \"items\"\nmatch = { path = \"k\", equals = \"{{ ext.uuid }}\" }\nread = { id = \"id\" }";
        let make = format!(
            "[[step]]\nname = \"contact\"\nkind = \"make\"\nread = {{ id = \"id\" }}\noutcome = [{{ status = 201, is = \"created\" }}]\n\
             request = {{ url = \"{{{{ vars.base_url }}}}/c\", body = {{ k = \"{{{{ ext.uuid }}}}\" }} }}\n[step.lookup]\n{lookup}\n\
             [[step.lookup.outcome]]\nstatus = 200\nis = \"answer\"\n[[step.lookup.outcome]]\n{rule}\n\n[[step]]"
        );
        is_refused(&altered("[[step]]", &make), wanted, &make);
    }
    for rule in [
        "status = [204, 404, 410]\nis = \"not_found\"".to_owned(),
        format!("status = [400, 500]\n{shown}\nis = \"not_found\""),
        "status = [201, 206]\nis = \"answer\"".to_owned(),
    ] {
        assert_eq!(with_rule("[verify]", "lookup", &rule), "loads\n", "{rule}");
    }
}

#[test]
fn a_lookup_asks_for_our_key_or_leafs_through_everything() {
    let asked = "query = { external_id = \"{{ ext.uuid }}\" }";
    let wanted = "the lookup does not ask for our key";
    for (query, more) in [
        ("query = { limit = \"20\" }", ""),
        ("query = { limit = \"20\" }", "unrelated = \"ignore\""),
        ("query = { q = \"{{ 'a' if ext.uuid else 'b' }}\" }", "unrelated = \"ignore\""),
    ] {
        let said = said("generic-searchable", &[(asked, query), ("settle_after", &format!("{more}\nsettle_after"))]);
        is_refused(&said, wanted, query);
    }
    let unasked = said("generic-keyed", &[(asked, "query = { limit = \"20\" }"), ("\"review\"", "\"resend\"")]);
    is_refused(&unasked, wanted, "keyed");
    for (query, more) in [
        ("query = { q = \"{{ marker }}\" }", ""),
        ("query = { q = \"{{ ext.uuid | replace('-', ' ') }}\" }", ""),
        ("query = { page = \"{{ page }}\" }", "scan = { pages = 3, size = 50 }"),
    ] {
        let said = said("generic-searchable", &[(asked, query), ("settle_after", &format!("{more}\nsettle_after"))]);
        assert_eq!(said, "loads\n", "{query}");
    }
}

#[test]
fn a_key_in_name_only_is_none() {
    let sent = "external_id = \"{{ ext.uuid }}\"";
    let matched = "match = { path = \"external_id\", equals = \"{{ ext.uuid }}\" }";
    let with = |equals: &str, more: &str| {
        altered(matched, &format!("match = {{ path = \"external_id\", equals = \"{equals}\"{more} }}"))
    };
    for (equals, more, wanted) in [
        ("{{ ext.uuid | chars(1) }}", ", contains = true", "does not hold our key in whole"),
        ("{{ ext.uuid | chars(35) }}", "", "does not hold our key in whole"),
        ("{{ '' if ext.uuid else ext.uuid }}", "", "does not hold our key in whole"),
        ("x{{ ext.uuid }}", "", "a record is compared with what is never sent"),
        ("{{ ext.uuid | upper }}", "", "a record is compared with what is never sent"),
        ("{{ ext.uuid | replace('-', '') }}", ", ignore_case = true", "a record is compared with what is never sent"),
    ] {
        is_refused(&with(equals, more), wanted, equals);
    }
    assert_eq!(with("{{ ext.uuid | upper }}", ", ignore_case = true"), "loads\n");
    assert_eq!(with("{{ ext.uuid }}", ", contains = true"), "loads\n");
    let verify = format!(
        "[verify]\nrequest = {{ method = \"GET\", url = \"{{{{ vars.base_url }}}}/tickets/{{{{ number }}}}\" }}\n{matched}"
    );
    is_refused(&altered(&verify, &verify.replace("{{ ext.uuid }}", "{{ ext.uuid | chars(8) }}")), "in whole", "verify");
    for create in
        ["external_id = \"{{ ext.uuid | chars(8) }}\"", "external_id = \"{{ subject if ext.uuid else subject }}\""]
    {
        is_refused(&altered(sent, create), "the request does not carry our key", create);
    }
    let both = said(
        "generic-searchable",
        &[
            (sent, "external_id = \"tg/{{ ext.uuid }}\""),
            (matched, "match = { path = \"external_id\", equals = \"tg/{{ ext.uuid }}\" }"),
            (matched, "match = { path = \"external_id\", equals = \"tg/{{ ext.uuid }}\" }"),
        ],
    );
    assert_eq!(both, "loads\n");
}

#[test]
fn evidence_and_trials_say_something() {
    let claim = "claim = \"A ticket keeps external_id, and the list filtered by it shows every ticket that has it, closed ones too.\"";
    let source = "source = \"the contract at the head of this file\"";
    let against = "against = \"the sandbox's CRM\"";
    for (passage, key) in [(claim, "claim"), (source, "source"), (against, "against")] {
        for text in ["", " ", "?", "…", "---", "1.0", "№"] {
            let said = altered(passage, &format!("{key} = \"{text}\""));
            is_refused(&said, &format!("`{key}` is `{text}`, which says nothing"), key);
        }
    }
    for (passage, text) in
        [(claim, "claim = \"Да, находит\""), (source, "source = \"ТП-17\""), (against, "against = \"1С\"")]
    {
        assert_eq!(altered(passage, text), "loads\n", "{text}");
    }
}

#[test]
fn a_ticket_has_one_number_whichever_answer_tells_it() {
    let both = "read = { id = \"id\", number = \"number\", url = \"url\" }";
    let by_id = "read = { id = \"id\", url = \"url\" }";
    let wanted = "the ticket's step reads a number, but here is only the internal id";
    is_refused(&altered(both, by_id), wanted, "lookup");
    let verify = format!(
        "[verify]\nrequest = {{ method = \"GET\", url = \"{{{{ vars.base_url }}}}/tickets/{{{{ number }}}}\" }}\nmatch = {{ path = \"external_id\", equals = \"{{{{ ext.uuid }}}}\" }}\n{both}"
    );
    is_refused(&altered(&verify, &verify.replace(both, by_id)), wanted, "verify");
    is_refused(&altered(both, "read = { id = \"id\", number = \"id\" }"), wanted, "the id by another name");
    // Where a step of its own reads the number, the ticket's step need not.
    let read = "\n[[step]]\nname = \"number\"\nkind = \"read\"\nrequest = { url = \"{{ vars.base_url }}/t/{{ steps.create.id }}\" }\nread = { number = \"number\" }\n\n[number]";
    let alone = ("id = \"id\"\nnumber = \"number\"\n", "id = \"id\"\n");
    assert_eq!(said("generic-searchable", &[alone, ("[number]", read)]), "loads\n");
    is_refused(&said("generic-searchable", &[alone, ("[number]", read), (both, by_id)]), wanted, "a step of its own");
    let two = said("generic-searchable", &[alone]);
    is_refused(
        &two,
        "warning: a number is read here, but the ticket's step reads only the internal id",
        "only the lookup",
    );
    assert_eq!(said("generic-searchable", &[alone, (both, by_id), (both, by_id)]), "loads\n", "ids alone");
}

#[test]
fn a_link_leads_to_the_ticket() {
    let with = |url: &str| altered("[number]", &format!("[link]\nurl = \"{url}\"\n\n[number]"));
    for url in ["{{ vars.base_url }}/requests", "{{ vars.base_url }}", "https://crm.example/?open=1#tickets"] {
        is_refused(&with(url), "nothing in the link says which ticket it opens", url);
    }
    for url in
        ["{{ vars.base_url }}/r/{{ id }}", "{{ vars.base_url }}/#t/{{ number }}", "{{ vars.base_url }}?id={{ id }}"]
    {
        assert_eq!(with(url), "loads\n", "{url}");
    }
    let foreign = with("https://evil.example/requests/{{ id }}");
    is_refused(
        &foreign.replace("loads\n", ""),
        "warning: the link leads to https://evil.example, where no request",
        "foreign",
    );
    let text =
        built_in::text("generic-searchable").expect("it ships").replace("{{ vars.base_url }}", "https://crm.example");
    let text = text.replace("[number]", "[link]\nurl = \"https://CRM.example/t/{{ id }}\"\n\n[number]");
    let own =
        load("crm.toml", &text).map(|(_, remarks)| remarks.to_string()).unwrap_or_else(|problems| problems.to_string());
    assert!(!own.contains("link"), "{own}");
}

#[test]
fn nothing_is_made_by_a_get() {
    let wanted = "a GET makes nothing";
    is_refused(&altered("method = \"POST\"", "method = \"GET\""), wanted, "ticket");
    let made = "[[step]]\nname = \"contact\"\nkind = \"make\"\nagain = true\nread = { id = \"id\" }\noutcome = [{ status = 201, is = \"created\" }]\n\
                request = { method = \"GET\", url = \"{{ vars.base_url }}/c\" }\n\n[[step]]";
    is_refused(&altered("[[step]]", made), wanted, "make");
    assert_eq!(altered("[[step]]", &made.replace("GET", "PUT")), "loads\n");
    let after = "[attachments]\nkind = \"after_create_post\"\noutcome = [{ status = 201, is = \"created\" }]\n\
                 request = { method = \"GET\", url = \"{{ vars.base_url }}/{{ id }}\", body_kind = \"file\" }\n\n[dedupe]";
    is_refused(&altered("[dedupe]", after), wanted, "attachments");
}

#[test]
fn a_kind_means_something_only_where_there_are_several() {
    let search = "name = \"by-external-id\"";
    for (from, to, table) in [
        ("[verify]", "[verify]\nkind = \"banana\"", "verify"),
        (search, "name = \"by-external-id\"\nkind = \"find\"", "lookup[1]"),
        (
            "[dedupe]",
            "[cleanup]\nkind = \"find\"\nrequest = { url = \"{{ vars.base_url }}/{{ id }}\" }\n[dedupe]",
            "cleanup",
        ),
        (
            "[dedupe]",
            "[[prerequisite]]\ntext = \"t\"\nkind = \"banana\"\nrequest = { url = \"{{ vars.base_url }}/x\" }\noutcome = [{ status = 200, is = \"answer\" }]\n[dedupe]",
            "prerequisite[1]",
        ),
    ] {
        is_refused(&altered(from, to), &format!("unknown key `kind` in [{table}]"), table);
    }
    let near = altered(search, "name = \"by-external-id\"\nkid = 1");
    assert!(near.contains("unknown key `kid`") && !near.contains("`kind`"), "{near}");
}

#[test]
fn a_profile_says_its_own_version_and_who_tried_it() {
    let versions = "versions = \"zayavka generic API 1\"";
    let trial = "verified = { date = \"2026-11-30\", against = \"the sandbox's CRM\" }";
    for (written, read) in [("3", "3"), ("\"1.2\"", "1.2"), ("\"2026-11-30\"", "2026-11-30")] {
        let text = built_in::text("generic-searchable").expect("it ships");
        let text = text.replacen(versions, &format!("{versions}\nprofile_version = {written}"), 1);
        let text = text.replacen(trial, &trial.replace(" }", ", by = \"Анна\" }"), 1);
        let (profile, remarks) = load("crm.toml", &text).unwrap_or_else(|problems| panic!("{problems}"));
        assert!(remarks.is_empty(), "{remarks}");
        assert_eq!(profile.meta.profile_version.as_deref(), Some(read));
        assert_eq!(profile.meta.verified.and_then(|verified| verified.by).as_deref(), Some("Анна"));
    }
    for odd in ["\"\"", "\"…\"", "[1]", "\"1\\n2\""] {
        let said = altered(versions, &format!("{versions}\nprofile_version = {odd}"));
        assert!(said.starts_with("crm.toml:") && said.contains("profile.profile_version"), "{odd}: {said}");
    }
    let nobody = altered(trial, &trial.replace(" }", ", by = \"?\" }"));
    is_refused(&nobody, "`by` is `?`, which says nothing", "by");
}
