//! What a probe concludes from what it saw, and how it tells it.

use std::time::Duration;

use super::{Findings, ProbeArgs, Repeated};
use crate::{
    clock::{Clock as _, SystemClock, Timestamp},
    config::duration,
    crm::Crm,
};

/// The promise that what was seen supports; none where it was not seen to the end.
pub(super) fn conclude(crm: &Crm, args: &ProbeArgs, findings: &mut Findings) {
    if findings.stopped.is_some() || findings.made.is_empty() {
        findings.why = "it was not tried to the end, and half a trial proves nothing".to_owned();
        return;
    }
    let all_seen = findings.seen_after_ms.len() == findings.made.len() && !findings.made.is_empty();
    let harmless = findings.repeated == Repeated::Harmless;
    let kept = findings.key_is_kept != Some(false);
    let (promise, why) = match (harmless && kept, all_seen && kept) {
        (true, _) => ("keyed", "the same create again made nothing new".to_owned()),
        (false, true) => ("searchable", "every record was found by our key".to_owned()),
        _ if !kept => ("blind", "the record came back without our key: its field is dropped".to_owned()),
        _ => ("blind", format!("not every record was found by our key within {} s", args.patience)),
    };
    (findings.promise, findings.why) = (Some(promise), why);
    if findings.repeated == Repeated::Refused && kept {
        findings.why.push_str(
            ". The repeat was refused by a rule for bad content: if the CRM says there that it knows the key, write a rule \
             `is = \"exists\"` for this answer, then probe again",
        );
    }
    if let Some(slowest) = findings.seen_after_ms.iter().max() {
        // Ten times the slowest seen, on top of how long the CRM may go on with a request nobody waits for.
        let settle = crm.figures().floor + Duration::from_millis(slowest.saturating_mul(10));
        findings.settle = Some(duration::show(Duration::from_secs(settle.as_secs() + 1)));
    }
}

pub(super) fn show(findings: &Findings) {
    for wanted in &findings.prerequisites {
        let word = match wanted.well {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "look",
        };
        println!("{word:5} {} {}", wanted.text, wanted.said);
    }
    println!("made              {}", findings.made.join(", "));
    let seen: Vec<_> = findings.seen_after_ms.iter().map(|ms| format!("{ms} ms")).collect();
    println!("found by our key  after {}", if seen.is_empty() { "never".to_owned() } else { seen.join(", ") });
    let kept = match findings.key_is_kept {
        Some(true) => "yes",
        Some(false) => "NO: the CRM dropped the field",
        None => "cannot be read back",
    };
    println!("our key is kept   {kept}");
    println!("a repeat          {}", findings.repeat);
    if !findings.left_behind.is_empty() {
        println!("left behind       {} (take them away by hand)", findings.left_behind.join(", "));
    }
    if let Some(why) = &findings.stopped {
        println!("stopped           {why}");
    }
    let Some(promise) = findings.promise else {
        println!("\nThis supports no promise: {}.", findings.why);
        return;
    };
    println!("\nThis supports the promise `{promise}`: {}.", findings.why);
    if let Some(settle) = &findings.settle {
        println!(
            "Figures for zayavka.toml:\n\n[crm.reconcile]\nsettle = \"{settle}\"\nlooks = 3\nspacing = \"20s\"\non_absent = \"review\""
        );
    }
    let day = Timestamp(SystemClock.now().0).rfc3339();
    let day = day.get(..10).unwrap_or_default();
    println!("\nFor the profile's own file:\n\nverified = {{ date = \"{day}\", against = \"…\" }}");
}
