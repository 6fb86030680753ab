//! Durations as operators write them: `500ms`, `10s`, `5m`, `3h`, `90d`. One number, one unit, no guessing.

use std::time::Duration;

/// What the hint of a wrong duration says.
pub const SHAPE: &str = "a whole number and a unit in quotes: \"500ms\", \"10s\", \"5m\", \"3h\", \"90d\"";

/// Reads one duration.
#[must_use]
pub fn parse(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let millis = match unit.trim_start() {
        "ms" => number,
        "s" => number.checked_mul(1_000)?,
        "m" => number.checked_mul(60_000)?,
        "h" => number.checked_mul(3_600_000)?,
        "d" => number.checked_mul(86_400_000)?,
        _ => return None,
    };
    // The database keeps moments as signed milliseconds.
    i64::try_from(millis).ok().map(|_| Duration::from_millis(millis))
}

/// Writes a duration the way [`parse`] reads it, in the largest unit that is exact (below a millisecond: cut off).
#[must_use]
pub fn show(duration: Duration) -> String {
    let millis = duration.as_millis();
    for (size, unit) in [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")] {
        if millis > 0 && millis.is_multiple_of(size) {
            return format!("{}{unit}", millis / size);
        }
    }
    format!("{millis}ms")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_unit_is_read_and_nothing_else() {
        for (text, millis) in
            [("500ms", 500), ("10s", 10_000), ("5m", 300_000), ("3h", 10_800_000), ("90d", 7_776_000_000), ("0s", 0)]
        {
            assert_eq!(parse(text), Some(Duration::from_millis(millis)), "{text}");
        }
        for text in
            ["", "10", "s", "-1s", "1.5h", "10 minutes", "1h30m", "99999999999999999999s", "9223372036854775807d"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_reads_back(millis in 0_u64..10_000_000_000) {
            let duration = Duration::from_millis(millis);
            prop_assert_eq!(parse(&show(duration)), Some(duration));
        }

        #[test]
        fn any_text_is_read_or_refused_without_harm(text in ".*") {
            let _ = parse(&text);
        }
    }
}
