//! The staff's desk out of a configuration: the same one behind the chat and behind the shell, so that what may be done
//! does not depend on where it is asked for.

use std::sync::Arc;

use super::setup::{Checked, delivery_policy};
use crate::{
    clock::{Clock, Dice},
    config::{self, Config},
    domain::role::{LiveRoster, Roster},
    staff::{Menus, Staff},
    store::operations::Author,
    telegram::BotName,
};

/// The desk; its bot has no name yet.
#[must_use]
pub fn desk(config: &Config, checked: &Checked, author: Author, clock: Arc<dyn Clock>) -> Staff {
    Staff {
        bot: config.telegram.bot_id,
        username: BotName::default(),
        roster: LiveRoster::new(roster(&config.staff)),
        texts: Arc::clone(&checked.catalog.texts),
        policy: Arc::new(checked.policy.clone()),
        delivery: delivery_policy(config),
        number: checked.crm.profile().number.clone(),
        can_verify: checked.crm.can_check(),
        second_person: config.staff.second_person,
        take_for: config.staff.take_for,
        hours: config.staff.hours,
        menus: Menus::default(),
        author,
        clock,
    }
}

/// The staff as configured.
#[must_use]
pub fn roster(staff: &config::Staff) -> Roster {
    Roster {
        chat: staff.chat,
        thread: staff.thread,
        owners: staff.owners.clone(),
        reviewers: staff.reviewers.clone(),
        viewers: staff.viewers.clone(),
    }
}

/// Who acts, for attempt rows: a name no other process has.
#[must_use]
pub fn author(config: &Config, dice: &dyn Dice) -> Author {
    let mut tail = [0; 4];
    dice.fill(&mut tail);
    Author {
        worker: format!("{}-{:08x}", std::process::id(), u32::from_le_bytes(tail)),
        on_unknown: config.notices.on_unknown,
        ..Author::default()
    }
}
