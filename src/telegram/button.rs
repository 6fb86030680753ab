//! What a button carries: intent, never permission. At most 64 bytes, read back strictly; rights and freshness are
//! decided from the database by the draft's owner, its revision, or the case's number.

use uuid::Uuid;

use crate::{
    domain::review::WORDS,
    ids::{ConfirmVersion, DraftId, UserId},
};

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
    /// A page of the staff's queue.
    Queue {
        /// Counted from 1.
        page: u32,
        /// Only what is in this hand.
        hand: Hand,
        /// Only this reason, one of [`WORDS`]; empty for all.
        reason: String,
        /// Only this form; empty for all.
        form: String,
    },
}

/// In whose hand a case is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Hand {
    /// Whoever's, or nobody's.
    #[default]
    Any,
    /// The presser's.
    Mine,
    /// Nobody's: it waits to be taken.
    Nobody,
    /// This person's.
    Of(UserId),
}

impl Hand {
    fn encode(self) -> String {
        match self {
            Self::Any => String::new(),
            Self::Mine => "m".to_owned(),
            Self::Nobody => "n".to_owned(),
            Self::Of(user) => user.to_string(),
        }
    }

    fn read(text: &str) -> Option<Self> {
        Some(match text {
            "" => Self::Any,
            "m" => Self::Mine,
            "n" => Self::Nobody,
            other => Self::Of(UserId(number(other)?)),
        })
    }
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
    /// Take the n-th attached file of the open question away.
    Detach(u32),
    /// All files of the n-th field of the form are attached.
    Attached(u32),
}

/// What staff want of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseWish {
    /// Work on it, so that nobody else does.
    Take,
    /// Let others work on it.
    HandBack,
    /// Search the CRM once more.
    LookAgain,
    /// Say its number: it is asked for next.
    AskNumber,
    /// Its number is the n-th candidate's.
    Candidate(u32),
    /// Link the number the question names although nobody can check it; the seal is of that number.
    Unchecked(u32),
    /// Link the number of the case although the CRM shows no key of ours in it.
    Keyless,
    /// Create it after all: the reason is asked for next.
    AskCreate,
    /// The second tap of whoever asked to create it; the seal is of the reason they read.
    Sure(u32),
    /// The consent of somebody else.
    Consent,
    /// Reject it: the reason is asked for next.
    AskReject,
    /// The n-th ready reason.
    Reason(u32),
    /// Leave everything as it was.
    Cancel,
    /// Send the message again.
    SendAgain,
    /// Leave the message, the update or the twin as it is.
    LetGo,
    /// Handle the update again.
    Replay,
    /// Show its history.
    Why,
}

impl CaseWish {
    fn letter(self) -> (char, Option<u32>) {
        match self {
            Self::Take => ('T', None),
            Self::HandBack => ('H', None),
            Self::LookAgain => ('L', None),
            Self::AskNumber => ('N', None),
            Self::Candidate(n) => ('K', Some(n)),
            Self::Unchecked(seal) => ('U', Some(seal)),
            Self::Keyless => ('E', None),
            Self::AskCreate => ('C', None),
            Self::Sure(seal) => ('Y', Some(seal)),
            Self::Consent => ('A', None),
            Self::AskReject => ('R', None),
            Self::Reason(n) => ('S', Some(n)),
            Self::Cancel => ('X', None),
            Self::SendAgain => ('G', None),
            Self::LetGo => ('D', None),
            Self::Replay => ('P', None),
            Self::Why => ('W', None),
        }
    }

    fn read(letter: char, number: Option<u32>) -> Option<Self> {
        Some(match (letter, number) {
            ('T', None) => Self::Take,
            ('H', None) => Self::HandBack,
            ('L', None) => Self::LookAgain,
            ('N', None) => Self::AskNumber,
            ('K', Some(n)) => Self::Candidate(n),
            ('U', Some(seal)) => Self::Unchecked(seal),
            ('E', None) => Self::Keyless,
            ('C', None) => Self::AskCreate,
            ('Y', Some(seal)) => Self::Sure(seal),
            ('A', None) => Self::Consent,
            ('R', None) => Self::AskReject,
            ('S', Some(n)) => Self::Reason(n),
            ('X', None) => Self::Cancel,
            ('G', None) => Self::SendAgain,
            ('D', None) => Self::LetGo,
            ('P', None) => Self::Replay,
            ('W', None) => Self::Why,
            _ => return None,
        })
    }
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
                    Wish::Detach(n) => ('d', Some(*n)),
                    Wish::Attached(n) => ('a', Some(*n)),
                };
                let number = number.map(|n| format!(".{n}")).unwrap_or_default();
                format!("{letter}{}.{revision}{number}", draft.0.simple())
            }
            Self::Submit { draft, revision, version } => format!("s{}.{revision}.{version}", draft.0.simple()),
            Self::Begin { form } => format!("f{form}"),
            Self::Case { case, rev, wish } => {
                let (letter, number) = wish.letter();
                let number = number.map(|n| format!(".{n}")).unwrap_or_default();
                format!("{letter}{case}.{rev}{number}")
            }
            Self::Queue { page, hand, reason, form } => {
                // One letter for a reason: with a person's number beside it a word would not fit.
                let reason = WORDS.iter().zip('a'..).find(|(word, _)| **word == reason.as_str());
                let reason = reason.map(|(_, letter)| letter.to_string()).unwrap_or_default();
                format!("Q{page}.{}.{reason}.{form}", hand.encode())
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
            'Q' => {
                let mut parts = rest.splitn(4, '.');
                let page = u32::try_from(number(parts.next()?)?).ok()?;
                let (hand, letter) = (Hand::read(parts.next()?)?, parts.next()?);
                let reason = WORDS.iter().zip('a'..).find(|(_, known)| letter.chars().eq([*known]));
                let reason = reason.map(|(word, _)| (*word).to_owned()).unwrap_or_default();
                Self::Queue { page, hand, reason, form: parts.next()?.to_owned() }
            }
            'A'..='Z' => {
                let (case, rest) = rest.split_once('.')?;
                let (rev, extra) = match rest.split_once('.') {
                    Some((rev, extra)) => (rev, Some(u32::try_from(number(extra)?).ok()?)),
                    None => (rest, None),
                };
                Self::Case { case: number(case)?, rev: number(rev)?, wish: CaseWish::read(letter, extra)? }
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
                    ('d', Some(n)) => Wish::Detach(n),
                    ('a', Some(n)) => Wish::Attached(n),
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
            any::<u32>().prop_map(Wish::Detach),
            any::<u32>().prop_map(Wish::Attached),
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
        let case_wish = prop_oneof![
            any::<u32>().prop_map(CaseWish::Candidate),
            any::<u32>().prop_map(CaseWish::Reason),
            any::<u32>().prop_map(CaseWish::Unchecked),
            any::<u32>().prop_map(CaseWish::Sure),
            prop::sample::select(vec![
                CaseWish::Take,
                CaseWish::HandBack,
                CaseWish::LookAgain,
                CaseWish::AskNumber,
                CaseWish::Keyless,
                CaseWish::AskCreate,
                CaseWish::Consent,
                CaseWish::AskReject,
                CaseWish::Cancel,
                CaseWish::SendAgain,
                CaseWish::LetGo,
                CaseWish::Replay,
                CaseWish::Why,
            ]),
        ];
        let hand = prop_oneof![
            prop::sample::select(vec![Hand::Any, Hand::Mine, Hand::Nobody]),
            (0_i64..1 << 52).prop_map(|user| Hand::Of(UserId(user))),
        ];
        let reason = prop::sample::select([&WORDS[..], &[""]].concat()).prop_map(str::to_owned);
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
            (0_i64..1 << 53, 0_i64..1 << 53, case_wish).prop_map(|(case, rev, wish)| Intent::Case { case, rev, wish }),
            (any::<u32>(), hand, reason, "[a-z0-9_-]{0,32}")
                .prop_map(|(page, hand, reason, form)| { Intent::Queue { page, hand, reason, form } }),
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
