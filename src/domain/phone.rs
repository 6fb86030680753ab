//! Telephone numbers as people write them, brought to E.164 (`+79991234567`).
//!
//! Only what is sure is completed: a number without a country is read by the form's region and the short table below;
//! everything else needs its plus sign.

/// How a country's own numbers are written at home.
struct Region {
    code: &'static str,
    country: &'static str,
    /// What is dialled before a number inside the country; longest first.
    trunks: &'static [&'static str],
    /// Digits after the country code.
    digits: usize,
    /// First digits a number without trunk prefix may have; a shorter list where a forgotten digit would look valid.
    starts: &'static str,
}

/// Regions whose home numbers are understood. All have one length, so a forgotten digit is noticed.
const REGIONS: [Region; 8] = [
    // Not 8: ten digits from 8 are far more often eleven with one forgotten than an 8xx number without its prefix.
    Region { code: "RU", country: "7", trunks: &["8", "7"], digits: 10, starts: "349" },
    Region { code: "KZ", country: "7", trunks: &["8", "7"], digits: 10, starts: "7" },
    Region { code: "BY", country: "375", trunks: &["80", "375"], digits: 9, starts: "1234" },
    Region { code: "UA", country: "380", trunks: &["380", "0"], digits: 9, starts: "345679" },
    Region { code: "UZ", country: "998", trunks: &["998"], digits: 9, starts: "23456789" },
    Region { code: "KG", country: "996", trunks: &["996", "0"], digits: 9, starts: "23579" },
    Region { code: "AM", country: "374", trunks: &["374", "0"], digits: 8, starts: "123456789" },
    Region { code: "US", country: "1", trunks: &["1"], digits: 10, starts: "23456789" },
];

/// Codes of the regions whose home numbers are understood.
pub fn regions() -> impl Iterator<Item = &'static str> {
    REGIONS.iter().map(|region| region.code)
}

/// The number in E.164, or nothing if it is not surely a telephone number. `region` says how a number without a plus
/// sign is meant.
#[must_use]
pub fn normalise(typed: &str, region: Option<&str>) -> Option<String> {
    let (plus, digits) = digits_of(typed)?;
    if plus {
        return international(&digits, region);
    }
    let region = REGIONS.iter().find(|known| Some(known.code) == region)?;
    for trunk in region.trunks {
        if let Some(rest) = digits.strip_prefix(trunk)
            && rest.len() == region.digits
        {
            return international(&format!("{}{rest}", region.country), None);
        }
    }
    let at_home = digits.len() == region.digits && digits.starts_with(|first| region.starts.contains(first));
    at_home.then(|| international(&format!("{}{digits}", region.country), None)).flatten()
}

/// A shared contact's number: international, with or without its plus sign. Only what no country's number can be is
/// read by the form's region: some clients pass on the number as its owner writes it at home.
#[must_use]
pub fn from_contact(number: &str, region: Option<&str>) -> Option<String> {
    let (_, digits) = digits_of(number)?;
    international(&digits, region)
}

fn international(digits: &str, region: Option<&str>) -> Option<String> {
    // "+8 999 123-45-67": the home prefix behind a plus sign. No country begins with 89, so nothing else is meant.
    if region == Some("RU") && digits.len() == 11 && digits.starts_with("89") {
        return Some(format!("+7{}", &digits[1..]));
    }
    if !(8..=15).contains(&digits.len()) || digits.starts_with('0') {
        return None;
    }
    // Country 7 (Russia, Kazakhstan) has one length: the commonest slip, a digit too many or too few, is caught.
    let plausible = match digits.strip_prefix('7') {
        Some(rest) => rest.len() == 10 && rest.starts_with(['3', '4', '6', '7', '8', '9']),
        None => true,
    };
    plausible.then(|| format!("+{digits}"))
}

/// The digits and whether a plus sign (or the dialled `00`) stood before them; nothing if there is anything else.
fn digits_of(typed: &str) -> Option<(bool, String)> {
    let mut plus = false;
    let mut digits = String::new();
    for c in typed.chars() {
        if let Some(digit) = digit(c) {
            digits.push(digit);
        } else if matches!(c, '+' | '＋') && digits.is_empty() && !plus {
            plus = true;
        } else if !is_separator(c) {
            return None;
        }
    }
    if !plus && let Some(rest) = digits.strip_prefix("00") {
        return Some((true, rest.to_owned()));
    }
    (!digits.is_empty()).then_some((plus, digits))
}

fn is_separator(c: char) -> bool {
    matches!(c, '(' | ')' | '-' | '.' | '/' | '（' | '）' | '－' | '\u{2010}'..='\u{2015}' | '\u{2212}')
        || super::blank::is_invisible(c)
}

/// A decimal digit of the scripts people paste numbers from, as ASCII.
#[must_use]
pub fn digit(c: char) -> Option<char> {
    const ZEROS: [u32; 5] = [0x30, 0x660, 0x6F0, 0x966, 0xFF10];
    let value = ZEROS.iter().find_map(|zero| u32::from(c).checked_sub(*zero).filter(|value| *value < 10))?;
    char::from_digit(value, 10)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_russian_number_is_understood_however_it_is_written() {
        for typed in [
            "89991234567",
            "8 (999) 123-45-67",
            "+7 999 123 45 67",
            "79991234567",
            "9991234567",
            "999.123.45.67",
            "+8 999 123-45-67",
            "００７９９９１２３４５６７",
            "＋７ ９９９ １２３ ４５ ６７",
            "٨٩٩٩١٢٣٤٥٦٧",
            "\u{202A}+7\u{00A0}999\u{2011}123\u{2013}45-67\u{202C}",
        ] {
            assert_eq!(normalise(typed, Some("RU")).as_deref(), Some("+79991234567"), "{typed}");
        }
        assert_eq!(normalise("8 495 123-45-67", Some("RU")).as_deref(), Some("+74951234567"));
    }

    #[test]
    fn what_is_not_surely_a_number_is_refused() {
        for typed in [
            "",
            " ",
            "8999123456",
            "899912345678",
            "+7999123456",
            "+799912345678",
            "8-800-звоните",
            "12345",
            "+",
            "++79991234567",
            "8999+1234567",
            "8 999 123-45-67 доб. 5",
            "+0123456789",
            "+1234567890123456",
            "+71234567890",
        ] {
            assert_eq!(normalise(typed, Some("RU")), None, "{typed}");
        }
    }

    #[test]
    fn other_countries_are_read_by_their_plus_sign_or_by_the_region_of_the_form() {
        assert_eq!(normalise("+49 30 901820", Some("RU")).as_deref(), Some("+4930901820"));
        assert_eq!(normalise("0049 30 901820", None).as_deref(), Some("+4930901820"));
        assert_eq!(normalise("030 901820", None), None);
        assert_eq!(normalise("8 029 123-45-67", Some("BY")).as_deref(), Some("+375291234567"));
        assert_eq!(normalise("067 123 45 67", Some("UA")).as_deref(), Some("+380671234567"));
        assert_eq!(normalise("(212) 555-0123", Some("US")).as_deref(), Some("+12125550123"));
        assert_eq!(normalise("8 701 123 45 67", Some("KZ")).as_deref(), Some("+77011234567"));
    }

    #[test]
    fn a_shared_contact_needs_no_plus_sign() {
        for region in [Some("RU"), Some("US"), None] {
            assert_eq!(from_contact("79991234567", region).as_deref(), Some("+79991234567"));
            assert_eq!(from_contact("+4930901820", region).as_deref(), Some("+4930901820"));
            assert_eq!(from_contact("84912345678", region).as_deref(), Some("+84912345678"), "Vietnam, not Moscow");
            assert_eq!(from_contact("hello", region), None);
        }
    }

    #[test]
    fn a_contact_written_as_at_home_is_read_by_the_region_of_the_form() {
        assert_eq!(from_contact("8 (999) 123-45-67", Some("RU")).as_deref(), Some("+79991234567"));
        assert_eq!(from_contact("+89991234567", Some("RU")).as_deref(), Some("+79991234567"));
    }

    proptest! {
        #[test]
        fn a_number_once_read_reads_as_itself(typed in "[+0-9０-９() -]{0,24}") {
            for region in REGIONS.iter().map(|r| Some(r.code)).chain([None]) {
                if let Some(read) = normalise(&typed, region) {
                    prop_assert!(read.len() >= 9 && read.len() <= 16, "{}", read);
                    prop_assert_eq!(normalise(&read, region), Some(read.clone()));
                    prop_assert_eq!(from_contact(&read, region), Some(read));
                }
            }
        }

        #[test]
        fn any_text_is_read_or_refused_without_harm(typed in ".*") {
            let _ = (normalise(&typed, Some("RU")), from_contact(&typed, Some("RU")));
        }
    }
}
