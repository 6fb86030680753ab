//! The length of texts as Telegram counts it, and texts cut to it. A character is never cut in two.

/// Most UTF-16 units of one message. Source: Bot API, `sendMessage` (the stricter reading of "characters").
pub const LONGEST: usize = 4096;

/// How long a text is, in UTF-16 units.
#[must_use]
pub fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Cuts a text into parts of at most `limit` UTF-16 units, at line ends where they are near, never inside a character.
#[must_use]
pub fn split(text: &str, limit: usize) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = text;
    while rest.encode_utf16().count() > limit {
        let mut units = 0;
        let fitting = rest.char_indices().take_while(|(_, c)| {
            units += c.len_utf16();
            units <= limit
        });
        let end = fitting.last().map_or(0, |(at, c)| at + c.len_utf8());
        if end == 0 {
            break;
        }
        let cut = rest[..end].rfind('\n').filter(|at| *at > end / 2).map_or(end, |at| at + 1);
        parts.push(rest[..cut].to_owned());
        rest = &rest[cut..];
    }
    parts.push(rest.to_owned());
    parts
}

/// At most `most` units of a text, the last character `…` if anything was cut off.
#[must_use]
pub fn cut(text: &str, most: usize) -> String {
    if units(text) <= most {
        return text.to_owned();
    }
    let mut left = most.saturating_sub(1);
    let fitting = text.chars().take_while(|c| {
        let fits = c.len_utf16() <= left;
        left -= if fits { c.len_utf16() } else { 0 };
        fits
    });
    fitting.chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn parts_fit_and_together_are_the_whole(text in "[a-zа-я😀\n]{0,300}", limit in 2_usize..50) {
            let parts = split(&text, limit);
            prop_assert_eq!(parts.concat(), text);
            prop_assert!(parts.iter().all(|part| units(part) <= limit));
        }

        #[test]
        fn what_is_cut_fits_and_begins_the_same(text in "[a-zа-я😀\n]{0,300}", most in 1_usize..50) {
            let short = cut(&text, most);
            prop_assert!(units(&short) <= most);
            prop_assert!(short == text || text.starts_with(short.strip_suffix('…').unwrap()));
        }
    }
}
