//! No words claim more than the state proves: what a text may say is checked by the state it is said in.
//!
//! A list of words is no understanding of language; it catches the honest slip of somebody who edits the texts.

use super::shape::Proof;

/// Words that say the ticket exists.
const CLAIMS: [&str; 25] = [
    "создан",
    "создана",
    "создано",
    "созданы",
    "создал",
    "создала",
    "создали",
    "создалась",
    "создался",
    "оформлен",
    "оформлена",
    "оформлено",
    "оформили",
    "оформил",
    "зарегистрирован",
    "зарегистрирована",
    "зарегистрировали",
    "заведён",
    "заведен",
    "заведена",
    "завели",
    "created",
    "registered",
    "filed",
    "issued",
];
/// Words that turn a claim into its denial when they stand right before it.
const DENIALS: [&str; 9] = ["не", "ни", "ещё", "еще", "not", "never", "isn't", "wasn't", "no"];
/// Words that call an open outcome a failure, or ask to do it all again.
const ALARMS: [&str; 14] = [
    "ошибка",
    "ошибки",
    "ошибку",
    "сбой",
    "неудача",
    "провал",
    "потеряна",
    "пропала",
    "повторите",
    "failed",
    "failure",
    "error",
    "retry",
    "lost",
];
/// The same in several words.
const ALARM_PHRASES: [&str; 7] =
    ["не удалось", "попробуйте ещё", "попробуйте еще", "ещё раз", "еще раз", "try again", "once more"];

/// What a text says too much for the state it is said in, with the words.
pub(super) fn overclaim(words: &str, proves: Proof, has_number: bool) -> Option<String> {
    let plain = words.to_lowercase();
    let open = matches!(proves, Proof::Accepted | Proof::Sending | Proof::Waiting | Proof::Unknown | Proof::Review);
    for (denied, word) in claims(&plain) {
        match proves {
            Proof::Free => {}
            Proof::Created if has_number && !denied => {}
            Proof::Created if !denied => return Some(format!("«{word}» is said without the number: {{number}}")),
            Proof::Created => return Some(format!("«not {word}» is not true here: the ticket exists")),
            _ if !denied => return Some(format!("«{word}» claims a ticket that this state does not prove")),
            _ if open => return Some(format!("«not {word}» is not proved here: the ticket may exist")),
            _ => {}
        }
    }
    if !open {
        return None;
    }
    let alarm = ALARM_PHRASES.into_iter().find(|phrase| plain.contains(phrase));
    let alarm =
        alarm.or_else(|| tokens(&plain).into_iter().flatten().find_map(|w| ALARMS.into_iter().find(|a| *a == w)));
    alarm.map(|word| format!("«{word}» calls it a failure while the ticket may exist"))
}

/// The claiming words of a text, each with whether it is denied.
fn claims(plain: &str) -> Vec<(bool, &str)> {
    let mut found = Vec::new();
    for clause in tokens(plain) {
        for (i, word) in clause.iter().enumerate() {
            if CLAIMS.contains(word) {
                let denied = clause.iter().take(i).rev().take(2).any(|before| DENIALS.contains(before));
                found.push((denied, *word));
            }
        }
    }
    found
}

/// The words of a text, clause by clause: a denial does not reach over a comma.
fn tokens(plain: &str) -> Vec<Vec<&str>> {
    plain
        .split(['.', ',', ';', ':', '!', '?', '\n', '—', '–', '(', ')', '«', '»'])
        .map(|clause| clause.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|w| !w.is_empty()).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_needs_the_state_and_the_number() {
        for (words, proves, number, refused) in [
            ("Заявка создана", Proof::Created, true, false),
            ("Заявка создана", Proof::Created, false, true),
            ("Заявка СОЗДАНА", Proof::Sending, true, true),
            ("Ticket created", Proof::Accepted, false, true),
            ("Заявка оформлена, ждите", Proof::Unknown, false, true),
            ("Заявка не создана", Proof::Cancelled, false, false),
            ("Заявка не была создана", Proof::Rejected, false, false),
            ("Заявка не создана", Proof::Unknown, false, true),
            ("Не волнуйтесь, заявка создана", Proof::Review, false, true),
            ("Чтобы не создать вторую", Proof::Review, false, false),
            ("Создание заявки проверяется", Proof::Review, false, false),
            ("Анкета создана вами", Proof::Nothing, false, true),
            ("Ошибка, попробуйте ещё раз", Proof::Unknown, false, true),
            ("Не удалось отправить", Proof::Waiting, false, true),
            ("Не удалось прочитать номер, попробуйте ещё раз", Proof::Nothing, false, false),
            ("Something failed", Proof::Sending, false, true),
            ("Заявка на проверке у сотрудника", Proof::Review, false, false),
            ("Создана № 5", Proof::Free, false, false),
        ] {
            assert_eq!(overclaim(words, proves, number).is_some(), refused, "{words}");
        }
    }
}
