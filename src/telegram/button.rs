//! What a button carries: intent, never permission. At most 64 bytes, read back strictly; rights and freshness are
//! decided from the database by the draft's owner, its revision, or the case's number.

use uuid::Uuid;

use crate::ids::{ConfirmVersion, DraftId};

/// Telegram's limit, in bytes of UTF-8. Source: Bot API, `InlineKeyboardButton.callback_data`.
pub const LIMIT: usize = 64;

/// The intent of a press.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Intent {
    /// Something about a draft, as it stood at a revision.
    Draft {
        /// Which draft.
        draft: DraftId,
        /// Its revision when the button was made.
        revision: i64,
        /// What.
        wish: Wish,
    },
    /// Send the confirmed version.
    Submit {
        /// Which draft.
        draft: DraftId,
        /// Its revision when the summary was made.
        revision: i64,
        /// Which confirmation this button stands for.
        version: ConfirmVersion,
    },
    /// Begin a form.
    Begin {
        /// The form's id.
        form: String,
    },
    /// Something about a case.
    Case {
        /// Which case.
        case: i64,
        /// Its number when the button was made.
        rev: i64,
        /// What.
        wish: CaseWish,
    },
}

/// What a person wants of a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// Take the n-th choice or slot of the open question.
    Choose(u32),
    /// Show the n-th page of choices.
    Page(u32),
    /// Pass the open question over.
    Skip,
    /// Go back one question.
    Back,
    /// Give consent.
    Agree,
    /// Refuse consent.
    Refuse,
    /// Choose what to change.
    Menu,
    /// Change the n-th field of the form.
    Edit(u32),
    /// Show the summary again.
    Summary,
    /// Withdraw the draft.
    Cancel,
}

/// What staff want of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseWish {
    /// Search the CRM once more.
    LookAgain,
    /// Show its history.
    Why,
}

impl Intent {
    /// The button's data.
    #[must_use]
    pub fn encode(&self) -> String {
        match self {
            Self::Draft { draft, revision, wish } => {
                let (letter, number) = match wish {
                    Wish::Choose(n) => ('c', Some(*n)),
                    Wish::Page(n) => ('p', Some(*n)),
                    Wish::Skip => ('k', None),
                    Wish::Back => ('b', None),
                    Wish::Agree => ('y', None),
                    Wish::Refuse => ('n', None),
                    Wish::Menu => ('m', None),
                    Wish::Edit(n) => ('e', Some(*n)),
                    Wish::Summary => ('u', None),
                    Wish::Cancel => ('x', None),
                };
                let number = number.map(|n| format!(".{n}")).unwrap_or_default();
                format!("{letter}{}.{revision}{number}", draft.0.simple())
            }
            Self::Submit { draft, revision, version } => format!("s{}.{revision}.{version}", draft.0.simple()),
            Self::Begin { form } => format!("f{form}"),
            Self::Case { case, rev, wish } => {
                let letter = match wish {
                    CaseWish::LookAgain => 'L',
                    CaseWish::Why => 'W',
                };
                format!("{letter}{case}.{rev}")
            }
        }
    }

    /// Reads data back; `None` for anything this codec did not write.
    #[must_use]
    pub fn decode(data: &str) -> Option<Self> {
        if data.len() > LIMIT {
            return None;
        }
        let mut letters = data.chars();
        let letter = letters.next()?;
        let rest = letters.as_str();
        let read = match letter {
            'f' => Self::Begin { form: rest.to_owned() },
            'L' | 'W' => {
                let (case, rev) = rest.split_once('.')?;
                let wish = if letter == 'L' { CaseWish::LookAgain } else { CaseWish::Why };
                Self::Case { case: number(case)?, rev: number(rev)?, wish }
            }
            _ => {
                let (draft, numbers) = rest.split_once('.')?;
                let draft = DraftId(Uuid::try_parse(draft).ok().filter(|_| draft.len() == 32)?);
                let (revision, extra) = match numbers.split_once('.') {
                    Some((revision, extra)) => (number(revision)?, Some(u32::try_from(number(extra)?).ok()?)),
                    None => (number(numbers)?, None),
                };
                let wish = match (letter, extra) {
                    ('s', Some(version)) => {
                        return checked(data, Self::Submit { draft, revision, version: ConfirmVersion(version) });
                    }
                    ('c', Some(n)) => Wish::Choose(n),
                    ('p', Some(n)) => Wish::Page(n),
                    ('e', Some(n)) => Wish::Edit(n),
                    ('k', None) => Wish::Skip,
                    ('b', None) => Wish::Back,
                    ('y', None) => Wish::Agree,
                    ('n', None) => Wish::Refuse,
                    ('m', None) => Wish::Menu,
                    ('u', None) => Wish::Summary,
                    ('x', None) => Wish::Cancel,
                    _ => return None,
                };
                Self::Draft { draft, revision, wish }
            }
        };
        checked(data, read)
    }
}

/// One intent has one spelling: what reads back differently was not written by us.
fn checked(data: &str, intent: Intent) -> Option<Intent> {
    (intent.encode() == data).then_some(intent)
}

fn number(text: &str) -> Option<i64> {
    text.parse().ok().filter(|number| *number >= 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn intents() -> impl Strategy<Value = Intent> {
        let wish = prop_oneof![
            any::<u32>().prop_map(Wish::Choose),
            any::<u32>().prop_map(Wish::Page),
            any::<u32>().prop_map(Wish::Edit),
            prop::sample::select(vec![
                Wish::Skip,
                Wish::Back,
                Wish::Agree,
                Wish::Refuse,
                Wish::Menu,
                Wish::Summary,
                Wish::Cancel
            ]),
        ];
        let draft = any::<u128>().prop_map(|bits| DraftId(Uuid::from_u128(bits)));
        // Revisions and case numbers stay below 2^53: they are counted one by one.
        prop_oneof![
            (draft.clone(), 0_i64..1 << 53, wish).prop_map(|(draft, revision, wish)| Intent::Draft {
                draft,
                revision,
                wish
            }),
            (draft, 0_i64..1 << 53, any::<u32>()).prop_map(|(draft, revision, version)| Intent::Submit {
                draft,
                revision,
                version: ConfirmVersion(version)
            }),
            "[a-z0-9_-]{1,32}".prop_map(|form| Intent::Begin { form }),
            (0_i64..1 << 53, 0_i64..1 << 53, prop::sample::select(vec![CaseWish::LookAgain, CaseWish::Why]))
                .prop_map(|(case, rev, wish)| Intent::Case { case, rev, wish }),
        ]
    }

    proptest! {
        #[test]
        fn every_intent_fits_and_reads_back(intent in intents()) {
            let data = intent.encode();
            prop_assert!(!data.is_empty() && data.len() <= LIMIT, "{} bytes: {data}", data.len());
            prop_assert_eq!(Intent::decode(&data), Some(intent));
        }

        #[test]
        fn foreign_bytes_are_refused_or_mean_exactly_themselves(data in ".{0,80}") {
            if let Some(intent) = Intent::decode(&data) {
                prop_assert_eq!(intent.encode(), data);
            }
        }
    }
}
