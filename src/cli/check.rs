//! `zayavka check`: every problem at once, and what the CRM can promise.

use std::path::Path;

use super::{Exit, complain};
use crate::{
    app,
    config::{self, Config},
    domain::outcome::Promise,
};

pub(super) fn run(path: &Path, json: bool) -> Exit {
    let checked = Config::load(Some(path), &config::environment()).and_then(|config| app::check(&config));
    match checked {
        Ok(checked) => {
            complain(&checked.warnings);
            let figures = checked.crm.figures();
            let promise = checked.crm.promise();
            let forms: Vec<_> = checked.catalog.forms.iter().map(|form| form.id.as_str()).collect();
            if json {
                let report = serde_json::json!({
                    "ok": true,
                    "forms": forms,
                    "languages": checked.catalog.texts.langs(),
                    "profile": checked.crm.profile().meta.name,
                    "promise": promise,
                    "settle_ms": u64::try_from(checked.policy.settle.as_millis()).unwrap_or(u64::MAX),
                    "looks": checked.policy.looks,
                    "per_second": figures.per_second,
                });
                println!("{report}");
            } else {
                println!("All is well: {} form(s): {}.", forms.len(), forms.join(", "));
                println!("CRM profile {}: {}", checked.crm.profile().meta.name, in_words(promise));
            }
            Exit::Done
        }
        Err(problems) => {
            if json {
                let found: Vec<_> = problems.iter().map(ToString::to_string).collect();
                println!("{}", serde_json::json!({"ok": false, "problems": found}));
            } else {
                complain(&problems);
            }
            Exit::NotWell
        }
    }
}

fn in_words(promise: Promise) -> &'static str {
    match promise {
        Promise::Keyed => "keyed. A lost answer is asked for again under the same key: at most one ticket.",
        Promise::Searchable => {
            "searchable. A lost answer is looked up by our key; what cannot be found goes to a human, never twice by itself."
        }
        Promise::Blind => "blind. It can neither be searched nor refuses repeats: every lost answer goes to a human.",
    }
}
