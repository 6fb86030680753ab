//! Names of things: small types, so that a chat is never taken for a person nor a draft for an operation.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::clock::{Dice, Timestamp};

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub i64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number_id!(
    /// The bot, by the number before the colon of its token.
    BotId
);
number_id!(
    /// A person in Telegram; up to 52 significant bits.
    UserId
);
number_id!(
    /// A Telegram chat; a private chat has its person's number.
    ChatId
);
number_id!(
    /// A message, unique only within its (bot, chat).
    MessageId
);
number_id!(
    /// An update's number: 32 bits today, restarted at random after an idle week.
    UpdateId
);

/// A time-ordered key (UUID version 7) from a moment and dice.
#[must_use]
pub fn time_ordered(now: Timestamp, dice: &dyn Dice) -> Uuid {
    let mut tail = [0; 10];
    dice.fill(&mut tail);
    uuid::Builder::from_unix_timestamp_millis(u64::try_from(now.0).unwrap_or(0), &tail).into_uuid()
}

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// A new one, ordered by the time of its making.
            #[must_use]
            pub fn new(now: Timestamp, dice: &dyn Dice) -> Self {
                Self(time_ordered(now, dice))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

uuid_id!(
    /// A filled-in or half-filled form of one person.
    DraftId
);
uuid_id!(
    /// One confirmed draft version on its way to one ticket.
    OperationId
);

/// Which confirmation of a draft: 1 for the first summary sent, one more after each rejection and edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ConfirmVersion(pub u32);

impl fmt::Display for ConfirmVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The key the CRM is given: derived from (bot, draft, version), so a restored backup derives the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExternalKey(pub Uuid);

/// The name space of our keys: any fixed UUID will do, it must only never change.
const KEY_SPACE: Uuid = Uuid::from_u128(0x7a61_7961_766b_6100_8000_6f6e_6365_6f6e);

impl ExternalKey {
    /// The key of one confirmed draft version.
    #[must_use]
    pub fn derive(bot: BotId, draft: DraftId, version: ConfirmVersion) -> Self {
        Self(Uuid::new_v5(&KEY_SPACE, format!("{bot}/{draft}/{version}").as_bytes()))
    }

    /// The key of another record the same ticket needs, made by a step of that name.
    #[must_use]
    pub fn of_step(self, step: &str) -> Self {
        Self(Uuid::new_v5(&self.0, step.as_bytes()))
    }
}

impl fmt::Display for ExternalKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The short code a person can read out and search for: `Z-7KQ4-M2XD`.
///
/// Forty bits of the external key: two live operations share one only by rare chance, and every command that takes a
/// marker copes with several hits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Marker(String);

/// Digits and letters that are not mistaken for each other when read aloud or copied by hand (no I, L, O, U).
const MARKER_ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

impl Marker {
    /// The marker of a key.
    #[must_use]
    pub fn of(key: ExternalKey) -> Self {
        let bits = key.0.as_u128();
        let mut text = String::with_capacity(11);
        text.push_str("Z-");
        for place in 0..8_u32 {
            if place == 4 {
                text.push('-');
            }
            let five = (bits >> (5 * place)) & 31;
            text.push(char::from(MARKER_ALPHABET[usize::try_from(five).unwrap_or(0)]));
        }
        Self(text)
    }

    /// Reads what a person typed: any case, with or without dashes, `O` for `0`, `I` and `L` for `1`.
    #[must_use]
    pub fn parse(typed: &str) -> Option<Self> {
        let mut letters = typed
            .trim()
            .chars()
            .filter(|c| !c.is_whitespace() && !matches!(c, '-' | '–' | '—' | '_'))
            .map(|c| c.to_ascii_uppercase());
        if letters.next() != Some('Z') {
            return None;
        }
        let mut text = String::from("Z-");
        let mut count = 0;
        for letter in letters {
            let letter = match letter {
                'O' => '0',
                'I' | 'L' => '1',
                other => other,
            };
            if !letter.is_ascii() || !MARKER_ALPHABET.contains(&(letter as u8)) {
                return None;
            }
            if count == 4 {
                text.push('-');
            }
            text.push(letter);
            count += 1;
        }
        (count == 8).then_some(Self(text))
    }

    /// As it is shown: `Z-7KQ4-M2XD`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SeededDice;

    #[test]
    fn the_key_depends_on_bot_draft_and_version_only() {
        let draft = DraftId(Uuid::from_u128(7));
        let one = ExternalKey::derive(BotId(1), draft, ConfirmVersion(1));
        assert_eq!(one, ExternalKey::derive(BotId(1), draft, ConfirmVersion(1)));
        assert_ne!(one, ExternalKey::derive(BotId(1), draft, ConfirmVersion(2)));
        assert_ne!(one, ExternalKey::derive(BotId(2), draft, ConfirmVersion(1)));
        // Frozen: keys already given to a CRM must stay derivable by every later release.
        assert_eq!(one.to_string(), "c53c10f5-7dcd-5b7a-8e65-10b89cdf1f64");
    }

    #[test]
    fn a_marker_is_read_as_people_type_it() {
        let marker = Marker::of(ExternalKey(Uuid::from_u128(0x1234_5678_9abc)));
        let shown = marker.as_str().to_owned();
        for typed in [shown.clone(), shown.to_lowercase(), shown.replace('-', ""), format!("  {shown} ")] {
            assert_eq!(Marker::parse(&typed).as_ref(), Some(&marker), "{typed}");
        }
        for typed in ["", "Z", "Z-1234", "X-1234-5678", "Z-1234-567U", "Z-1234-56789", "Z-абвг-1234"] {
            assert_eq!(Marker::parse(typed), None, "{typed}");
        }
    }

    #[test]
    fn keys_made_later_sort_later() {
        let dice = SeededDice::new(1);
        let made: Vec<_> = (0..50).map(|ms| DraftId::new(Timestamp(ms), &dice)).collect();
        assert!(made.is_sorted());
    }
}
