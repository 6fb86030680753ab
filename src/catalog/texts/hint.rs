//! The text of each hint: one key a hint, so that a new hint does not compile without words.

use super::{Key, Texts};
use crate::domain::{attachment::LeftOut, validate::Hint};

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
            Hint::FilesWanted => say(Key::HintFilesWanted, &[]),
            Hint::FileTooLarge { max } => say(Key::HintFileTooLarge, &[("max", &max.to_string())]),
            Hint::FileType { types } => {
                let images = self.say(lang, Key::DialogFileImages, &[]);
                let words: Vec<_> = types.iter().map(|mime| in_words(mime, &images)).collect();
                say(Key::HintFileType, &[("types", &words.join(", "))])
            }
            Hint::TooManyFiles { max } => say(Key::HintTooManyFiles, &[("max", &max.to_string())]),
            Hint::CannotSkip => say(Key::HintCannotSkip, &[]),
        }
    }
}

impl Texts {
    /// Why a file is not with its ticket.
    #[must_use]
    pub fn left_out(&self, lang: &str, why: LeftOut) -> String {
        let key = match why {
            LeftOut::NotTaken => Key::TicketFileNotTaken,
            LeftOut::TooMany => Key::TicketFileTooMany,
            LeftOut::TooLarge => Key::TicketFileTooLarge,
            LeftOut::WrongType => Key::TicketFileWrongType,
            LeftOut::Gone => Key::TicketFileGone,
            LeftOut::Unreachable => Key::TicketFileUnreachable,
            LeftOut::Refused => Key::TicketFileRefused,
            LeftOut::Unsure => Key::TicketFileUnsure,
        };
        self.say(lang, key, &[])
    }
}

/// A media type as people call it: `PDF` for `application/pdf`; the whole of it where that says nothing.
fn in_words(mime: &str, images: &str) -> String {
    match mime.split_once('/') {
        Some(("image", "*")) => images.to_owned(),
        Some((_, sub)) if sub.len() <= 5 && sub.bytes().all(|b| b.is_ascii_alphanumeric()) => sub.to_uppercase(),
        _ => mime.to_owned(),
    }
}
