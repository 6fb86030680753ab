//! Characters that show nothing: a message of only these is empty to a reader, and to Telegram.
//!
//! They are never removed from what a person wrote (an emoji is held together by one of them, Arabic text is ordered
//! by others); they only do not count as an answer.

/// Whether a character shows nothing by itself: white space, controls, and what Unicode calls default-ignorable.
#[must_use]
pub fn is_invisible(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(c,
            '\u{00AD}'                   // soft hyphen
            | '\u{034F}'                 // combining grapheme joiner
            | '\u{061C}'                 // Arabic letter mark
            | '\u{115F}' | '\u{1160}'    // Hangul fillers
            | '\u{17B4}' | '\u{17B5}'    // Khmer inherent vowels
            | '\u{180B}'..='\u{180F}'    // Mongolian separators and selectors
            | '\u{200B}'..='\u{200F}'    // zero-width space, joiners, direction marks
            | '\u{202A}'..='\u{202E}'    // direction embeddings and overrides
            | '\u{2060}'..='\u{206F}'    // word joiner, invisible operators, direction isolates
            | '\u{2800}'                 // Braille blank
            | '\u{3164}' | '\u{FFA0}'    // Hangul fillers
            | '\u{FE00}'..='\u{FE0F}'    // variation selectors
            | '\u{FEFF}'                 // byte order mark
            | '\u{FFF0}'..='\u{FFFB}'    // unassigned ignorables, interlinear annotation
            | '\u{1BCA0}'..='\u{1BCA3}'  // shorthand format controls
            | '\u{1D173}'..='\u{1D17A}'  // musical format controls
            | '\u{E0000}'..='\u{E0FFF}' // tags, more variation selectors
        )
}

/// Whether a text shows nothing at all.
#[must_use]
pub fn is_blank(text: &str) -> bool {
    text.chars().all(is_invisible)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_shows_nothing_is_blank_and_what_shows_something_is_not() {
        for text in [
            "",
            " \n\t",
            "\u{200B}",
            "\u{2060}\u{FEFF}",
            "\u{3164}",
            "\u{2800}\u{2800}",
            "\u{202E}\u{2069}",
            "\u{E0020}",
        ] {
            assert!(is_blank(text), "{text:?}");
        }
        for text in ["a", "ё", "👩\u{200D}🚀", "\u{202E}abc", "مرحبا", ".", "\u{0301}e"] {
            assert!(!is_blank(text), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_visible_character_anywhere_makes_a_text_visible(
            before in "[\u{200B} \u{FEFF}\n]*", shown in "[a-zа-я0-9]", after in "[\u{200B} \u{2060}]*"
        ) {
            let text = [before, shown, after].concat();
            prop_assert!(!is_blank(&text));
        }
    }
}
