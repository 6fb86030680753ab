//! What came of a deed, in words: the same for a tap, a command and a shell.

use super::{
    Staff,
    deed::{Ruling, Target},
};
use crate::{
    catalog::{
        texts::Key,
        timeline::event_words,
        wording::{state_words, visible},
    },
    domain::review::Matter,
    store::{StoreError, Tx},
};

impl Target {
    /// What staff call it: the marker of the operation, or the case's number.
    #[must_use]
    pub fn name(&self) -> String {
        match (&self.stored, &self.case) {
            (Some(stored), _) => stored.marker.to_string(),
            (None, Some(case)) => format!("#{}", case.id),
            (None, None) => "—".to_owned(),
        }
    }
}

impl Staff {
    /// What is promised about a twin when it is created after all: no more than what will be done.
    fn creating(&self, target: &Target) -> Key {
        let before = target.stored.as_ref().and_then(|stored| stored.operation.on_wire);
        match before {
            // Nothing is on its way, or the CRM knows its key: there can be no second ticket.
            None => Key::StaffDoneCreatePlain,
            Some(_) if self.policy.key_lives(before, self.clock.now()) => Key::StaffDoneCreatePlain,
            Some(_) if self.policy.can_look => Key::StaffDoneCreate,
            Some(_) => Key::StaffDoneCreateUnseen,
        }
    }

    /// A ruling as its doer reads it.
    ///
    /// # Errors
    /// [`StoreError`] when a name cannot be looked up.
    pub async fn ruling_words(
        &self,
        tx: &Tx,
        lang: &str,
        target: &Target,
        ruling: &Ruling,
    ) -> Result<String, StoreError> {
        let name = target.name();
        let (case, marker) = (("case", name.as_str()), ("marker", name.as_str()));
        let state = || {
            let stored = target.stored.as_ref();
            stored.map_or_else(|| "—".to_owned(), |stored| state_words(&self.texts, lang, &stored.operation))
        };
        let say = |key: Key, args: &[(&str, &str)]| self.texts.say(lang, key, args);
        Ok(match ruling {
            Ruling::Taken(until) => say(Key::StaffDoneTake, &[case, ("until", &self.hours.short(*until))]),
            Ruling::HandedBack => say(Key::StaffDoneHandBack, &[case]),
            Ruling::Linking(number) => say(Key::StaffDoneLink, &[marker, ("number", number)]),
            Ruling::LinkingKeyless(number) => say(Key::StaffDoneKeyless, &[marker, ("number", number)]),
            Ruling::LinkedUnchecked(number) => say(Key::StaffDoneUnchecked, &[marker, ("number", number)]),
            Ruling::Looking => say(Key::StaffDoneLook, &[marker]),
            Ruling::Creating => say(self.creating(target), &[marker]),
            Ruling::Asked => say(Key::StaffDoneAsked, &[case]),
            Ruling::Rejected => say(Key::StaffDoneReject, &[marker]),
            Ruling::SendingAgain => say(Key::StaffDoneSendAgain, &[case]),
            Ruling::LeftAlone => {
                let twin = target.case.as_ref().is_some_and(|case| matches!(case.matter, Matter::Twin { .. }));
                say(if twin { Key::StaffDoneTwin } else { Key::StaffDoneLetGo }, &[case])
            }
            Ruling::Replaying => say(Key::StaffDoneReplay, &[case]),
            Ruling::AlreadyYours => say(Key::StaffAlreadyYours, &[case]),
            Ruling::Held(by, until) => {
                let (by, until) = (visible(&self.called(tx, *by).await?), self.hours.short(*until));
                say(Key::StaffHeld, &[case, ("name", &by), ("until", &until)])
            }
            Ruling::Decided(by, how) => {
                let by = visible(&self.called(tx, *by).await?);
                let what = event_words(&self.texts, lang, how);
                say(Key::StaffDecidedBy, &[case, ("name", &by), ("what", &what), ("state", &state())])
            }
            Ruling::NotWaiting => say(Key::StaffNotInReview, &[marker, ("state", &state())]),
            Ruling::Changed => say(Key::StaffChanged, &[case]),
            Ruling::NotAllowed => say(Key::StaffNotYours, &[]),
            Ruling::CannotCheck(number) => say(Key::StaffUncheckedHint, &[case, ("number", number)]),
            Ruling::CheckFirst(number) => say(Key::StaffCheckFirst, &[("number", number)]),
            Ruling::NoSearch => say(Key::StaffNoSearch, &[]),
            Ruling::LinkedElsewhere(number, other) => {
                say(Key::StaffLinkedElsewhere, &[("number", number), ("other", other), marker])
            }
            Ruling::NotThis => say(Key::StaffNotThis, &[case]),
            Ruling::NotTaken => say(Key::StaffNotTaken, &[case]),
            Ruling::NeedsAnother => say(Key::StaffNeedsAnother, &[case]),
            Ruling::ClientAway => say(Key::StaffClientAway, &[case]),
        })
    }
}
