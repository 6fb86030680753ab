//! `zayavka doctor duplicate` with a ticket that only the CRM knows: the CRM is asked whether it carries the key of the other.

use std::{path::Path, sync::Arc};

use super::{
    super::{Exit, desk::Desk, kept_tokens, load_checked},
    Cause, Evidence, of_one, tell,
};
use crate::{domain::outcome::Verified, ids::Marker};

/// Tells how the ticket `name` stands to the `known` operation; `unknown` is what is said where nobody can be asked.
///
/// # Errors
/// The ticket's key could not be learnt; why was told.
pub(super) async fn judge(
    path: &Path,
    desk: &Desk,
    (name, unknown): (&str, &str),
    known: &Evidence,
) -> Result<(), Exit> {
    let said = match asked(path, desk, name, known).await? {
        Verified::Ours { .. } => Ok(ours(name, known)),
        Verified::Foreign => {
            let marker = &known.stored.marker;
            let why = format!(
                "the CRM was asked: its ticket {name} does not carry the key of {marker}, so it came from somewhere else"
            );
            Ok((Cause::None, why))
        }
        Verified::Keyless { .. } => {
            let why =
                format!("the CRM was asked: its ticket {name} carries no key of ours, so it came from somewhere else");
            Ok((Cause::None, why))
        }
        Verified::Exists { .. } => {
            Err(format!("the CRM has the ticket {name}, and does not show whose key it carries"))
        }
        Verified::Absent => Err(format!("{unknown}; the CRM was asked too, and has no such ticket")),
        Verified::Unsure { detail } => Err(format!("{unknown}; the CRM could not be asked: {detail}")),
        Verified::Impossible => Err(unknown.to_owned()),
    };
    match said {
        Ok((cause, why)) => {
            tell(desk.json, cause, &why, &[known]);
            Ok(())
        }
        Err(words) => {
            eprintln!("{words}");
            Err(Exit::NotWell)
        }
    }
}

/// What the CRM says of the ticket. A marker is no number of its.
async fn asked(path: &Path, desk: &Desk, name: &str, known: &Evidence) -> Result<Verified, Exit> {
    if Marker::parse(name).is_some() {
        return Ok(Verified::Impossible);
    }
    let (config, checked) = load_checked(path)?;
    let crm = match checked.crm.needs_token() {
        true => checked.crm.with_tokens(Arc::new(kept_tokens(&config, desk.store.clone()))),
        false => checked.crm,
    };
    let number = name.trim_start_matches(['#', '№']).trim();
    Ok(crm.verify(number, known.stored.operation.key, &known.stored.marker).await)
}

/// Both are of one operation: its calls explain them, or the one call was carried out twice.
fn ours(name: &str, known: &Evidence) -> (Cause, String) {
    let asked = format!("the CRM was asked: its ticket {name} carries the key of {}", known.stored.marker);
    match of_one(known) {
        (Cause::None, _) => {
            let calls = known.attempts.len();
            let why = format!("{asked}, and {calls} call(s) of ours were made, none of which was lost or overlapped");
            (Cause::OneCall, why)
        }
        (cause, why) => (cause, format!("{asked}; {why}")),
    }
}
