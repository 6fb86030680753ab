//! What the operator may edit, loaded and cross-checked: forms, texts, ticket templates, CRM profiles.
//!
//! Defaults are compiled in. The operator's folder overrides them: a text file takes the place of the one of its language,
//! whole, and any form file that of the sample form.

pub mod folder;
pub mod forms;
pub mod mapping;
pub mod problem;
pub mod profile;
pub mod texts;
pub mod timeline;
pub mod wording;

use std::{collections::BTreeMap, path::Path, sync::Arc};

use crate::{
    config::{files, places::Place, reader::Document},
    domain::form::{FieldKind, Form},
};
use mapping::Renderer;
use problem::Problems;
use texts::Texts;

/// The sample form, by file name.
const FORMS: [(&str, &str); 1] =
    [("templates/forms/consultation.toml", include_str!("../../templates/forms/consultation.toml"))];
/// The texts that ship, by language and file name.
const TEXTS: [(&str, &str, &str); 2] = [
    ("en", "templates/texts/en.toml", include_str!("../../templates/texts/en.toml")),
    ("ru", "templates/texts/ru.toml", include_str!("../../templates/texts/ru.toml")),
];

/// Forms, texts and the rules of ticket templates: everything about words, checked.
#[derive(Debug)]
pub struct Catalog {
    /// The forms, by file name; at least one.
    pub forms: Vec<Arc<Form>>,
    /// Where the forms ask for files.
    pub file_fields: Vec<FileField>,
    /// Every sentence, in every language.
    pub texts: Arc<Texts>,
    /// Renders a form's ticket templates.
    pub renderer: Renderer,
}

impl Catalog {
    /// Loads the compiled-in files with those of `dir` (the `templates` folder) over them. All mistakes of all files
    /// are added to `problems`; with an error in any there is no catalog.
    #[must_use]
    pub fn load(dir: Option<&Path>, default_lang: &str, problems: &mut Problems) -> Option<Self> {
        Self::load_for(dir, default_lang, ("templates/texts".to_owned(), None), problems)
    }

    /// The same; `named_at` is where the default language is set.
    #[must_use]
    pub fn load_for(dir: Option<&Path>, default_lang: &str, named_at: Place, problems: &mut Problems) -> Option<Self> {
        let mut file_fields = Vec::new();
        let forms = load_forms(dir, &mut file_fields, problems);
        let texts = load_texts(dir, (default_lang, named_at), problems);
        Some(Self { forms: forms?, file_fields, texts: Arc::new(texts?), renderer: Renderer::default() })
    }

    /// The texts alone, for who needs no form.
    #[must_use]
    pub fn texts(dir: Option<&Path>, default_lang: &str, problems: &mut Problems) -> Option<Texts> {
        load_texts(dir, (default_lang, ("templates/texts".to_owned(), None)), problems)
    }

    /// The form with this id.
    #[must_use]
    pub fn form(&self, id: &str) -> Option<&Arc<Form>> {
        self.forms.iter().find(|form| form.id == id)
    }
}

/// A question for files, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileField {
    /// The form's file.
    pub file: String,
    /// The line of its kind.
    pub line: Option<u32>,
    /// The field's id.
    pub id: String,
    /// Most files.
    pub max: u32,
    /// The largest, in megabytes.
    pub max_size: u32,
}

fn file_fields(file: &str, text: &str, form: &Form) -> Vec<FileField> {
    let document = Document::parse(file, text);
    let sections = document.root().tables("field");
    let line = |id: &str| {
        let section = sections.iter().find(|section| section.peek("id").as_deref() == Some(id))?;
        section.take("kind")?.line()
    };
    let found = form.fields.iter().filter_map(|field| match field.kind {
        FieldKind::Files { max, max_size, .. } => {
            Some(FileField { file: file.to_owned(), line: line(&field.id), id: field.id.clone(), max, max_size })
        }
        _ => None,
    });
    found.collect()
}

fn load_forms(dir: Option<&Path>, found: &mut Vec<FileField>, problems: &mut Problems) -> Option<Vec<Arc<Form>>> {
    let own = dir.map(|dir| files::toml_files(&dir.join("forms"), problems)).unwrap_or_default();
    let mut sources: Vec<(String, Option<String>)> = Vec::new();
    for path in &own {
        sources.push((path.display().to_string(), files::read(path, problems)));
    }
    if own.is_empty() {
        sources.extend(FORMS.map(|(file, text)| (file.to_owned(), Some(text.to_owned()))));
    }
    let (count, mut loaded) = (sources.len(), Vec::new());
    let mut files_by_id: BTreeMap<String, String> = BTreeMap::new();
    for (file, text) in sources {
        let Some(text) = text else { continue };
        let Some(form) = forms::load(&file, &text, problems) else { continue };
        if let Some(other) = files_by_id.get(&form.id) {
            let line = Document::parse(&file, &text).root().take("id").and_then(|id| id.line());
            problems.error(file, line, format!("form `{}` is also in {other}", form.id), "each form needs its own id");
        } else {
            found.extend(file_fields(&file, &text, &form));
            files_by_id.insert(form.id.clone(), file);
            loaded.push(Arc::new(form));
        }
    }
    (loaded.len() == count).then_some(loaded)
}

fn load_texts(dir: Option<&Path>, default: (&str, Place), problems: &mut Problems) -> Option<Texts> {
    let shipped = TEXTS.map(|(lang, file, text)| (lang.to_owned(), (file.to_owned(), text.to_owned()))).into();
    let mut own = texts::Sources::new();
    let mut sound = true;
    for path in dir.map(|dir| files::toml_files(&dir.join("texts"), problems)).unwrap_or_default() {
        let file = path.display().to_string();
        let lang = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("");
        if !((2..=3).contains(&lang.len()) && lang.chars().all(|c| c.is_ascii_lowercase())) {
            problems.error(file, None, "is not named after a language", "two or three letters, such as ru.toml");
            sound = false;
        } else if let Some(text) = files::read(&path, problems) {
            own.insert(lang.to_owned(), (file, text));
        } else {
            sound = false;
        }
    }
    texts::load(&shipped, &own, default, problems).filter(|_| sound)
}
