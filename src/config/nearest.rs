//! "Did you mean": the nearest known word to a mistyped one, so that a wrong key costs a glance, not a search.

/// The known word nearest to `typed`, if it is near enough to be a slip of the hand.
#[must_use]
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (typed.chars().count() / 3).clamp(1, 3);
    known
        .into_iter()
        .map(|word| (distance(typed, word), word))
        .filter(|(d, _)| *d <= allowed)
        .min_by_key(|(d, _)| *d)
        .map(|(_, word)| word)
}

/// The hint for a word that is not known: the nearest one, or all of them while they are few.
#[must_use]
pub fn hint<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(typed, known.iter().copied()) {
        Some(word) => format!("did you mean `{word}`?"),
        None if known.is_empty() => String::new(),
        None if known.len() <= 12 => format!("known here: {}", known.join(", ")),
        None => "no such name here; remove it, or look it up in the documentation".to_owned(),
    }
}

/// Optimal string alignment: insertions, deletions, replacements and swaps of neighbours, one each.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.to_lowercase().chars().collect(), b.to_lowercase().chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row[j] = best;
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_hand_is_recognised_and_another_word_is_not() {
        let known = ["token", "token_file", "api_url", "receive"];
        for (typed, meant) in
            [("tokne", Some("token")), ("apiurl", Some("api_url")), ("recieve", Some("receive")), ("colour", None)]
        {
            assert_eq!(nearest(typed, known), meant, "{typed}");
        }
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", ""), 3);
    }
}
