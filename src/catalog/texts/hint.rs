//! The text of each hint: one key a hint, so that a new hint does not compile without words.

use super::{Key, Texts};
use crate::domain::validate::Hint;

impl Texts {
    /// The text of a hint.
    #[must_use]
    pub fn hint(&self, lang: &str, hint: &Hint) -> String {
        let say = |key: Key, args: &[(&str, &str)]| self.say(lang, key, args);
        match hint {
            Hint::Empty => say(Key::HintEmpty, &[]),
            Hint::Invisible => say(Key::HintInvisible, &[]),
            Hint::TooShort { min } => say(Key::HintTooShort, &[("min", &min.to_string())]),
            Hint::TooLong { max, got } => {
                say(Key::HintTooLong, &[("max", &max.to_string()), ("got", &got.to_string())])
            }
            Hint::NotAPhone => say(Key::HintNotAPhone, &[]),
            Hint::ForeignContact => say(Key::HintForeignContact, &[]),
            Hint::NotAnEmail => say(Key::HintNotAnEmail, &[]),
            Hint::NotAChoice => say(Key::HintNotAChoice, &[]),
            Hint::PressAButton => say(Key::HintPressAButton, &[]),
            Hint::TextWanted { got } => match got.as_str() {
                "photo" | "video" | "document" | "animation" | "sticker" => say(Key::DialogPhotoNotNeeded, &[]),
                _ => say(Key::HintTextWanted, &[]),
            },
            Hint::ConsentRefused => say(Key::DialogConsentDeclined, &[]),
            Hint::NotANumber => say(Key::HintNotANumber, &[]),
            Hint::OutOfRange { min, max } => {
                say(Key::HintOutOfRange, &[("min", &min.to_string()), ("max", &max.to_string())])
            }
            Hint::NotADate => say(Key::HintNotADate, &[]),
            Hint::CannotSkip => say(Key::HintCannotSkip, &[]),
        }
    }
}
