//! What a person sees of a draft: the open question, the summary, the list of what can be changed.

use std::collections::HashMap;

use crate::{
    catalog::texts::{Key, Texts},
    domain::{
        answer::{Answer, Answers},
        attachment::Attachment,
        draft::{Draft, DraftState},
        form::{Choice, Field, FieldKind, Form},
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
            FieldKind::Files { max, .. } => return self.files(field, *max, text),
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

    /// What is attached so far, each with a button that takes it away, and the one that ends the question.
    fn files(&self, field: &Field, max: u32, mut text: String) -> Words {
        let attached = self.attached(field);
        if attached.is_empty() {
            let how = self.texts.say(self.lang, Key::DialogFilesHow, &[("max", &max.to_string())]);
            text.push_str(&format!("\n\n{how}"));
        } else {
            text.push_str(&format!("\n\n{}", self.files_so_far(attached, max)));
        }
        Words::with_buttons(text, self.files_rows(field))
    }

    /// The same without the question, after a file that was sent; `lead` says what is wrong with it.
    pub(super) fn files_state(&self, field: &Field, lead: Option<&str>) -> Words {
        let FieldKind::Files { max, .. } = field.kind else { return Words::plain(String::new()) };
        let attached = self.attached(field);
        let state = match (attached.is_empty(), lead) {
            (true, Some(lead)) => lead.to_owned(),
            (true, None) => self.text(Key::DialogFilesNone),
            (false, lead) => {
                let lead = lead.map(|lead| format!("{lead}\n\n")).unwrap_or_default();
                format!("{lead}{}", self.files_so_far(attached, max))
            }
        };
        Words::with_buttons(state, self.files_rows(field))
    }

    fn files_rows(&self, field: &Field) -> Vec<Vec<Button>> {
        let attached = self.attached(field);
        let photo = self.text(Key::DialogFilePhoto);
        let number = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let detach = |(at, file): (usize, &Attachment)| {
            vec![self.button(short(&format!("✕ {}. {}", at + 1, file.label(&photo))), Wish::Detach(number(at)))]
        };
        let mut rows: Vec<_> = attached.iter().enumerate().map(detach).collect();
        let mut last = Vec::new();
        if !attached.is_empty() {
            let place = self.form.fields.iter().position(|known| known.id == field.id).unwrap_or_default();
            rows.push(vec![self.button(self.text(Key::DialogFilesDone), Wish::Attached(number(place)))]);
        } else if field.optional {
            last.push(self.button(self.text(Key::DialogSkip), Wish::Skip));
        }
        if self.has_before(field) {
            last.push(self.button(self.text(Key::DialogBack), Wish::Back));
        }
        if !last.is_empty() {
            rows.push(last);
        }
        rows
    }

    fn files_so_far(&self, attached: &[Attachment], max: u32) -> String {
        let photo = self.text(Key::DialogFilePhoto);
        let lines = attached.iter().enumerate().map(|(at, file)| format!("{}. {}", at + 1, file.label(&photo)));
        let names = lines.collect::<Vec<_>>().join("\n");
        let (count, max) = (attached.len().to_string(), max.to_string());
        self.texts.say(self.lang, Key::DialogFilesSoFar, &[("count", &count), ("max", &max), ("names", &names)])
    }

    fn attached(&self, field: &Field) -> &[Attachment] {
        match self.draft.answers.get(&field.id) {
            Some(Answer::Files(files)) => files,
            _ => &[],
        }
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
        lines(self.texts, self.lang, self.form, &self.draft.answers)
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

/// Question and answer of everything asked, as the summary and the ticket show them.
pub(super) fn lines(texts: &Texts, lang: &str, form: &Form, answers: &Answers) -> String {
    let photo = texts.say(lang, Key::DialogFilePhoto, &[]);
    let listed = |files: &[Attachment]| {
        let names: Vec<_> = files.iter().map(|file| file.label(&photo)).collect();
        let (count, names) = (files.len().to_string(), names.join(", "));
        texts.say(lang, Key::DialogFilesListed, &[("count", &count), ("names", &names)])
    };
    let lines = form.asked(answers).into_iter().filter_map(|field| {
        let shown = match answers.get(&field.id)? {
            Answer::Files(files) => listed(files),
            answer => answer.display(),
        };
        Some(format!("{}\n{shown}", field.ask))
    });
    lines.collect::<Vec<_>>().join("\n\n")
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
