//! What a person sees of a draft: the open question, the summary, the list of what can be changed.

use std::collections::HashMap;

use crate::{
    catalog::texts::{Key, Texts},
    domain::{
        draft::{Draft, DraftState},
        form::{Choice, Field, FieldKind, Form, summary_lines},
        notice::{Button, Keyboard, ReplyButton, Words},
    },
    telegram::{
        button::{Intent, Wish},
        render::{TEXT_LIMIT, split},
    },
};

/// Choices shown at once: beyond about 40 a keyboard grows too large for Telegram.
const PAGE: usize = 40;

/// How many places of each slot are taken.
pub(super) type Taken = HashMap<String, u32>;

pub(super) struct Screens<'a> {
    pub(super) texts: &'a Texts,
    pub(super) lang: &'a str,
    pub(super) form: &'a Form,
    pub(super) draft: &'a Draft,
}

impl Screens<'_> {
    fn text(&self, key: Key) -> String {
        self.texts.say(self.lang, key, &[])
    }

    fn button(&self, label: impl Into<String>, wish: Wish) -> Button {
        let intent = Intent::Draft { draft: self.draft.id, revision: self.draft.revision, wish };
        Button::data(label, intent.encode())
    }

    /// Where the draft stands: its open question, or its summary. Long ones come in several messages.
    pub(super) fn now(&self, lead: Option<&str>, page: usize, taken: &Taken) -> Vec<Words> {
        match (self.draft.state, self.draft.asked(self.form)) {
            (DraftState::Filling, Some(field)) => in_parts(self.question(field, lead, page, taken)),
            _ => in_parts(self.summary(lead)),
        }
    }

    fn question(&self, field: &Field, lead: Option<&str>, page: usize, taken: &Taken) -> Words {
        let mut text = lead.map(|lead| format!("{}\n\n", lead.trim_end())).unwrap_or_default();
        text.push_str(&field.ask);
        if let FieldKind::Consent { text: consent, .. } = &field.kind {
            text.push_str(&format!("\n\n{consent}"));
        }
        let mut rows = Vec::new();
        match &field.kind {
            FieldKind::Phone { .. } => return self.phone(field, text),
            FieldKind::Choice { choices } => {
                text.push_str(&prices(choices, page));
                let labels = choices.iter().enumerate().map(|(i, choice)| (i, choice.label.clone())).collect();
                self.pages(&mut rows, labels, page);
            }
            FieldKind::Slot { slots } => {
                let free = |id: &str, places: u32| taken.get(id).copied().unwrap_or(0) < places;
                let labels: Vec<_> = slots
                    .iter()
                    .enumerate()
                    .filter(|(_, slot)| free(&slot.id, slot.places))
                    .map(|(i, slot)| (i, slot.label.clone()))
                    .collect();
                if labels.is_empty() {
                    text.push_str(&format!("\n\n{}", self.text(Key::DialogNoPlaces)));
                }
                self.pages(&mut rows, labels, page);
            }
            FieldKind::Consent { .. } => {
                rows.push(vec![self.button(self.text(Key::DialogConsentYes), Wish::Agree)]);
                rows.push(vec![self.button(self.text(Key::DialogConsentNo), Wish::Refuse)]);
            }
            FieldKind::Text { .. } | FieldKind::Email | FieldKind::Number { .. } | FieldKind::Date => {}
        }
        let mut last = Vec::new();
        if field.optional {
            text.push_str(&format!("\n{}", self.text(Key::DialogAskOptionalHint)));
            last.push(self.button(self.text(Key::DialogSkip), Wish::Skip));
        }
        if self.has_before(field) {
            last.push(self.button(self.text(Key::DialogBack), Wish::Back));
        }
        if !last.is_empty() {
            rows.push(last);
        }
        Words::with_buttons(text, rows)
    }

    /// A contact can only be shared by a button in place of the keyboard, which then carries the other wishes too.
    fn phone(&self, field: &Field, mut text: String) -> Words {
        let mut rows = vec![vec![ReplyButton::ShareContact(self.text(Key::DialogShareContact))]];
        let mut last = Vec::new();
        if field.optional {
            text.push_str(&format!("\n{}", self.text(Key::DialogAskOptionalHint)));
            last.push(ReplyButton::Say(self.text(Key::DialogSkip)));
        }
        if self.has_before(field) {
            last.push(ReplyButton::Say(self.text(Key::DialogBack)));
        }
        if !last.is_empty() {
            rows.push(last);
        }
        Words { text, keyboard: Keyboard::Reply(rows) }
    }

    fn pages(&self, rows: &mut Vec<Vec<Button>>, labels: Vec<(usize, String)>, page: usize) {
        let pages = labels.len().div_ceil(PAGE).max(1);
        let page = page.min(pages - 1);
        for (i, label) in labels.into_iter().skip(page * PAGE).take(PAGE) {
            rows.push(vec![self.button(label, Wish::Choose(u32::try_from(i).unwrap_or(u32::MAX)))]);
        }
        let turn = |to: usize| Wish::Page(u32::try_from(to).unwrap_or(0));
        let mut arrows = Vec::new();
        if page > 0 {
            arrows.push(self.button("◀", turn(page - 1)));
        }
        if page + 1 < pages {
            arrows.push(self.button("▶", turn(page + 1)));
        }
        if !arrows.is_empty() {
            rows.push(arrows);
        }
    }

    fn has_before(&self, field: &Field) -> bool {
        self.form.asked(&self.draft.answers).first().is_some_and(|first| first.id != field.id)
    }

    fn summary(&self, lead: Option<&str>) -> Words {
        let lines = self.lines();
        let mut text = lead.map(|lead| format!("{}\n\n", lead.trim_end())).unwrap_or_default();
        text.push_str(&self.texts.say(self.lang, Key::DialogSummary, &[("lines", &lines)]));
        let submit =
            Intent::Submit { draft: self.draft.id, revision: self.draft.revision, version: self.draft.version };
        let rows = vec![
            vec![Button::data(self.text(Key::DialogSubmitButton), submit.encode())],
            vec![
                self.button(self.text(Key::DialogEdit), Wish::Menu),
                self.button(self.text(Key::DialogCancelButton), Wish::Cancel),
            ],
        ];
        Words::with_buttons(text, rows)
    }

    /// Question and answer, one pair a paragraph.
    pub(super) fn lines(&self) -> String {
        let lines = summary_lines(self.form, &self.draft.answers);
        let lines: Vec<_> = lines.into_iter().map(|(ask, answer)| format!("{ask}\n{answer}")).collect();
        lines.join("\n\n")
    }

    /// What can be changed: a button for each answered question.
    pub(super) fn menu(&self) -> Words {
        let asked = self.form.asked(&self.draft.answers);
        let mut rows: Vec<_> = self
            .form
            .fields
            .iter()
            .enumerate()
            .filter(|(_, field)| asked.iter().any(|asked| asked.id == field.id))
            .map(|(i, field)| vec![self.button(short(&field.ask), Wish::Edit(u32::try_from(i).unwrap_or(u32::MAX)))])
            .collect();
        rows.push(vec![self.button(self.text(Key::DialogBack), Wish::Summary)]);
        Words::with_buttons(self.text(Key::DialogEditWhich), rows)
    }
}

/// What a page of choices costs, a line each. A button carries the label alone: a phone would cut the price off.
fn prices(choices: &[Choice], page: usize) -> String {
    let page = page.min(choices.len().div_ceil(PAGE).max(1) - 1);
    let shown = choices.iter().skip(page * PAGE).take(PAGE);
    let lines: Vec<_> = shown.filter(|choice| choice.price.is_some()).map(Choice::listed).collect();
    if lines.is_empty() { String::new() } else { format!("\n\n{}", lines.join("\n")) }
}

/// A question as a button's label.
fn short(ask: &str) -> String {
    let line = ask.lines().next().unwrap_or_default();
    if line.chars().count() <= 60 { line.to_owned() } else { line.chars().take(59).chain(['…']).collect() }
}

/// Words that Telegram takes: a text too long for one message comes in several, the buttons under the last.
fn in_parts(words: Words) -> Vec<Words> {
    let mut parts: Vec<_> = split(&words.text, TEXT_LIMIT).into_iter().map(Words::plain).collect();
    if let Some(last) = parts.last_mut() {
        last.keyboard = words.keyboard;
    }
    parts
}
