//! The screens of a form before anybody fills it in: the same ones a person will see, by the same code.

use super::screens::{Screens, Taken};
use crate::{
    catalog::texts::{Key, Texts},
    domain::{
        answer::Answers,
        branches::Way,
        draft::{Draft, DraftState},
        form::{Field, Form},
        notice::{Keyboard, ReplyButton, Words},
    },
    ids::{BotId, ChatId, DraftId, UserId},
};

/// One screen: what is said, in as many messages as it takes, and the rows of buttons under it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Screen {
    /// The messages.
    pub texts: Vec<String>,
    /// What the buttons say, row by row.
    pub buttons: Vec<Vec<String>>,
}

/// A form, seen in one language.
#[derive(Debug, Clone, Copy)]
pub struct Preview<'a> {
    /// The form.
    pub form: &'a Form,
    /// The sentences.
    pub texts: &'a Texts,
    /// The language.
    pub lang: &'a str,
}

impl Preview<'_> {
    /// A question as it comes along this way, with the form's greeting before the first one.
    #[must_use]
    pub fn question(&self, field: &Field, way: &Way) -> Screen {
        let before = way.asked.iter().take_while(|id| **id != field.id);
        let mut answers = Answers::new();
        for id in before {
            if let Some(answer) = way.answers.get(id) {
                answers.set(id.clone(), answer.clone());
            }
        }
        let mut draft = self.draft(answers);
        draft.cursor = Some(field.id.clone());
        let is_first = way.asked.first().is_some_and(|first| *first == field.id);
        let (title, intro) = (&self.form.title, &self.form.intro);
        let greeting = self.texts.say(self.lang, Key::DialogWelcome, &[("form", title), ("intro", intro)]);
        self.screen(&draft, is_first.then_some(greeting.as_str()))
    }

    /// The summary at the end of this way.
    #[must_use]
    pub fn summary(&self, way: &Way) -> Screen {
        let mut draft = self.draft(way.answers.clone());
        draft.state = DraftState::Summary;
        draft.cursor = None;
        self.screen(&draft, None)
    }

    fn draft(&self, answers: Answers) -> Draft {
        let nobody = (BotId(0), UserId(0), ChatId(0));
        let id = DraftId(uuid::Uuid::nil());
        let mut draft = Draft::begin(id, nobody.0, nobody.1, nobody.2, self.form);
        draft.answers = answers;
        draft
    }

    fn screen(&self, draft: &Draft, lead: Option<&str>) -> Screen {
        let screens = Screens { texts: self.texts, lang: self.lang, form: self.form, draft };
        let all = screens.now(lead, 0, &Taken::new());
        let buttons = all.last().map(labels).unwrap_or_default();
        Screen { texts: all.into_iter().map(|words| words.text).collect(), buttons }
    }
}

fn labels(words: &Words) -> Vec<Vec<String>> {
    let of_reply = |button: &ReplyButton| match button {
        ReplyButton::Say(label) | ReplyButton::ShareContact(label) => label.clone(),
    };
    match &words.keyboard {
        Keyboard::Inline(rows) => {
            rows.iter().map(|row| row.iter().map(|button| button.label.clone()).collect()).collect()
        }
        Keyboard::Reply(rows) => rows.iter().map(|row| row.iter().map(of_reply).collect()).collect(),
        Keyboard::None | Keyboard::Remove | Keyboard::Answer { .. } => Vec::new(),
    }
}
