//! No words claim more than the state proves: what a text may say is checked by the state it is said in.
//!
//! A list of words is no understanding of language; it catches the honest slip of somebody who edits the texts.

use super::shape::Proof;
use crate::domain::blank;

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
const DENIALS: [&str; 13] =
    ["не", "ни", "ещё", "еще", "not", "never", "isn't", "wasn't", "didn't", "hasn't", "haven't", "weren't", "no"];
/// Words that make a question of the claim: «создана ли», which claims nothing.
const ASKING: &str = "ли";
/// Words that say where a ticket is, each a claim where the clause speaks of the ticket.
const PLACES: [&str; 8] = [
    "в crm есть",
    "есть в crm",
    "уже в crm",
    "появилась в crm",
    "находится в crm",
    "is in the crm",
    "exists in the crm",
    "already in the crm",
];
/// Words that say that a ticket is not there.
const NOWHERE: [&str; 4] = ["в crm нет", "нет в crm", "not in the crm", "не в crm"];
/// What a ticket is called, as words begin.
const TICKETS: [&str; 7] = ["заявк", "обращени", "карточк", "тикет", "она", "ticket", "request"];
/// Words of the way to the CRM: denied, they say what nobody knows while it may have arrived.
const WAY: [&str; 22] = [
    "отправлен",
    "отправлена",
    "отправлено",
    "отправлены",
    "отправили",
    "отправилась",
    "ушла",
    "дошёл",
    "дошел",
    "дошла",
    "дошло",
    "дошли",
    "доставлена",
    "попала",
    "поступила",
    "sent",
    "submitted",
    "arrived",
    "arrive",
    "reached",
    "reach",
    "delivered",
];
/// Words that call an open outcome a failure, or ask to do it all again.
const ALARMS: [&str; 23] = [
    "ошибка",
    "ошибки",
    "ошибку",
    "сбой",
    "неудача",
    "провал",
    "потерян",
    "потеряна",
    "потеряно",
    "потеряны",
    "потерялась",
    "потеряли",
    "утеряна",
    "утрачена",
    "пропал",
    "пропала",
    "пропало",
    "повторите",
    "failed",
    "failure",
    "error",
    "retry",
    "lost",
];
/// The same in several words.
const ALARM_PHRASES: [&str; 9] = [
    "не удалось",
    "попробуйте ещё",
    "попробуйте еще",
    "ещё раз",
    "еще раз",
    "try again",
    "once more",
    "went missing",
    "is missing",
];

/// What a text says too much for the state it is said in, with the words.
pub(super) fn overclaim(words: &str, proves: Proof, has_number: bool) -> Option<String> {
    let plain = plain(words);
    let clauses = tokens(&plain);
    let open = matches!(proves, Proof::Accepted | Proof::Sending | Proof::Waiting | Proof::Unknown | Proof::Review);
    for (denied, word) in claims(&clauses) {
        match proves {
            Proof::Free => {}
            // Said of tickets in general: «заявки, которые уже в CRM».
            Proof::Nothing if PLACES.contains(&word) => {}
            Proof::Created if has_number && !denied => {}
            Proof::Created if !denied => return Some(format!("«{word}» is said without the number: {{number}}")),
            Proof::Created => return Some(format!("«not {word}» is not true here: the ticket exists")),
            _ if !denied => return Some(format!("«{word}» claims a ticket that this state does not prove")),
            _ if open => return Some(format!("«not {word}» is not proved here: the ticket may exist")),
            _ => {}
        }
    }
    if matches!(proves, Proof::Sending | Proof::Unknown | Proof::Review) {
        let mut denied = clauses.iter().flat_map(|clause| said(clause, &WAY)).filter(|(denied, _)| *denied);
        if let Some((_, word)) = denied.next() {
            return Some(format!("«not {word}» is not proved here: it may have arrived"));
        }
    }
    if !open {
        return None;
    }
    let phrases = |clause: &Vec<&str>| {
        phrase(clause, &ALARM_PHRASES).or_else(|| phrase(clause, &NOWHERE).filter(|_| is_of_a_ticket(clause)))
    };
    let alarm = clauses.iter().find_map(phrases);
    let alarm = alarm.or_else(|| clauses.iter().flatten().find_map(|w| ALARMS.into_iter().find(|a| a == w)));
    alarm.map(|word| format!("«{word}» calls it a failure while the ticket may exist"))
}

/// The words as a reader sees them: what shows nothing hides no word, nor does a stress mark or another apostrophe.
fn plain(words: &str) -> String {
    let seen = words.to_lowercase();
    let seen =
        seen.chars().filter(|c| c.is_whitespace() || !(blank::is_invisible(*c) || matches!(c, '\u{300}' | '\u{301}')));
    seen.map(|c| if c == '’' { '\'' } else { c }).collect()
}

/// The claiming words of a text, each with whether it is denied.
fn claims<'p>(clauses: &[Vec<&'p str>]) -> Vec<(bool, &'p str)> {
    let mut found = Vec::new();
    for clause in clauses {
        found.extend(said(clause, &CLAIMS));
        found.extend(phrase(clause, &PLACES).filter(|_| is_of_a_ticket(clause)).map(|place| (false, place)));
    }
    found
}

fn is_of_a_ticket(clause: &[&str]) -> bool {
    clause.iter().any(|word| TICKETS.iter().any(|ticket| word.starts_with(ticket)))
}

/// Which of the words a clause says, each with whether it is denied; one that is asked about is not said.
fn said<'p>(clause: &[&'p str], words: &[&str]) -> Vec<(bool, &'p str)> {
    let mut found = Vec::new();
    for (i, word) in clause.iter().enumerate() {
        if words.contains(word) && clause.get(i + 1) != Some(&ASKING) {
            let denied = clause.iter().take(i).rev().take(2).any(|before| DENIALS.contains(before));
            found.push((denied, *word));
        }
    }
    found
}

/// The first of the phrases that a clause says, word by word.
fn phrase(clause: &[&str], phrases: &[&'static str]) -> Option<&'static str> {
    let line = format!(" {} ", clause.join(" "));
    phrases.iter().copied().find(|phrase| line.contains(&format!(" {phrase} ")))
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
            ("Со\u{AD}зда\u{200B}на", Proof::Sending, false, true),
            ("Заявка со\u{301}здана", Proof::Unknown, false, true),
            ("Ответа, по которому ясно, создана ли заявка, нет", Proof::Review, false, false),
            ("Заявка   не отправлена", Proof::Unknown, false, true),
            ("Заявка не была отправлена", Proof::Review, false, true),
            ("Заявка не дошла", Proof::Unknown, false, true),
            ("Заявка потерян\u{AD}а", Proof::Unknown, false, true),
            ("Заявка   в CRM есть", Proof::Unknown, false, true),
            ("Заявка есть в CRM", Proof::Created, true, false),
            ("Заявки в CRM нет", Proof::Review, false, true),
            ("Номера   в CRM нет", Proof::Review, false, false),
            ("Номер   в CRM есть, но это другая заявка", Proof::Review, false, false),
            ("Проверяем, есть ли заявка в CRM", Proof::Unknown, false, false),
            ("Заявка ещё не отправлена, CRM не отвечает", Proof::Waiting, false, false),
            ("Ничего не отправлено", Proof::Cancelled, false, false),
            ("Your request was not sent", Proof::Unknown, false, true),
            ("It didn’t reach the CRM", Proof::Review, false, true),
            ("The request was lost", Proof::Sending, false, true),
            ("The ticket is in the CRM", Proof::Unknown, false, true),
            ("We have sent it and are waiting", Proof::Unknown, false, false),
        ] {
            assert_eq!(overclaim(words, proves, number).is_some(), refused, "{words}");
        }
    }
}
