//! The page's named switches: each is a sticky fault, on until it is switched off.

use serde_json::{Map, Value};

use super::{
    Outside,
    faults::{Deed, Rule},
};

/// Which server a switch's rule belongs to.
enum At {
    Crm,
    Telegram,
}

/// A switch that is one sticky rule.
struct RuleSwitch {
    name: &'static str,
    at: At,
    on: &'static str,
    deed: Deed,
}

const CRM_DOWN: &str = "crm_down";
const DELIVER_TWICE: &str = "deliver_twice";

const RULES: [RuleSwitch; 4] = [
    RuleSwitch { name: "crm_lose_answer", at: At::Crm, on: "POST /tickets", deed: Deed::LoseAnswer },
    RuleSwitch { name: "crm_500_after_create", at: At::Crm, on: "POST /tickets", deed: Deed::ErrorAfter },
    RuleSwitch { name: "crm_blind_lookup", at: At::Crm, on: "GET /tickets", deed: Deed::ErrorBefore },
    RuleSwitch { name: "telegram_lose_answer", at: At::Telegram, on: "sendMessage", deed: Deed::LoseAnswer },
];

/// Turns a switch.
///
/// # Errors
/// In words, for an unknown name or if the CRM cannot be opened again.
pub(super) async fn turn(outside: &Outside, name: &str, on: bool) -> Result<(), String> {
    if name == CRM_DOWN {
        return outside.crm.set_down(on).await;
    }
    if name == DELIVER_TWICE {
        outside.bot_api.with(|book, _| book.queue.twice = on);
        return Ok(());
    }
    let Some(switch) = RULES.iter().find(|switch| switch.name == name) else {
        let known: Vec<_> = RULES.iter().map(|switch| switch.name).chain([CRM_DOWN, DELIVER_TWICE]).collect();
        return Err(format!("there is no switch \"{name}\"; there are {}", known.join(", ")));
    };
    let set = |plan: &mut super::faults::Plan| {
        plan.remove_switch(switch.name);
        if on { plan.add(Rule::sticky(switch.on, switch.deed), Some(switch.name)).map(drop) } else { Ok(()) }
    };
    match switch.at {
        At::Crm => outside.crm.with_plan(set),
        At::Telegram => outside.bot_api.with(|book, _| set(&mut book.plan)),
    }
}

/// How all switches stand.
pub(super) fn json(outside: &Outside) -> Value {
    let mut all = Map::new();
    for switch in &RULES {
        let on = match switch.at {
            At::Crm => outside.crm.has_switch(switch.name),
            At::Telegram => outside.bot_api.read(|book, _| book.plan.has_switch(switch.name)),
        };
        all.insert(switch.name.to_owned(), on.into());
    }
    all.insert(CRM_DOWN.to_owned(), outside.crm.is_down().into());
    all.insert(DELIVER_TWICE.to_owned(), outside.bot_api.read(|book, _| book.queue.twice).into());
    Value::Object(all)
}
