//! Reads `[attachments]`: how files reach the ticket.

use std::time::Duration;

use super::{
    super::{
        model::{Attachments, Step, StepKind, Way},
        rule::CREATE_WORDS,
        template::Template,
    },
    answer, meta,
    names::{Names, Use},
    request,
};
use crate::{
    config::reader::{Item, Section},
    domain::attachment::{LARGEST_FILE, MOST_FILES, is_mime},
};

/// What a profile may say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    None,
    Inline,
    Multipart,
    Upload,
    Urls,
    AfterCreate,
}

const WORDS: [(&str, Word); 6] = [
    ("none", Word::None),
    ("inline_base64", Word::Inline),
    ("multipart", Word::Multipart),
    ("upload_then_token", Word::Upload),
    ("url_list", Word::Urls),
    ("after_create_post", Word::AfterCreate),
];

pub(super) fn attachments(root: &Section<'_>, names: &Names) -> Option<Attachments> {
    let Some(section) = root.table("attachments") else { return Some(Attachments::default()) };
    if !section.has("kind") {
        let words: Vec<_> = WORDS.iter().map(|(word, _)| format!("\"{word}\"")).collect();
        section.missing("kind", words.join(", "));
    }
    let word = section.one_of("kind", &WORDS);
    let plain = Attachments::default();
    let megabytes = |key, most: u32| meta::count(&section, key, 1..=i64::from(most));
    let max_size = megabytes("max_size", LARGEST_FILE).unwrap_or(plain.max_size);
    let max_total = megabytes("max_total", LARGEST_FILE * MOST_FILES).unwrap_or(plain.max_total.max(max_size));
    let max_files = meta::count(&section, "max_files", 1..=50).unwrap_or(plain.max_files);
    let required = section.bool("required").unwrap_or(false);
    let types = types(&section);
    let token_lives = section.duration("token_lives", Duration::from_secs(1)..=Duration::from_secs(366 * 86_400));
    if token_lives.is_some() && !matches!(word, Some(Word::Upload | Word::Urls)) {
        section.error("token_lives", "there is no upload here whose token could end", "remove it");
    }
    let way = match word {
        None => None,
        Some(Word::None) => Some(Way::None),
        Some(Word::Inline) => Some(Way::Inline),
        Some(Word::Multipart) => Some(Way::Multipart(parts(&section, names))),
        Some(Word::Upload) => step(&section, names, Use::File).map(|step| Way::Upload(Box::new(step))),
        Some(Word::Urls) => step(&section, names, Use::File).map(|step| Way::Urls(Box::new(step))),
        Some(Word::AfterCreate) => step(&section, names, Use::FileAfter).map(|step| Way::AfterCreate(Box::new(step))),
    };
    match word {
        Some(Word::Upload) if !section.has("read") => {
            section.missing("read", "where the answer to an upload holds its token: read = { id = \"upload.token\" }");
        }
        Some(Word::Urls) if !section.has("read") => {
            let hint = "where the answer to an upload holds the file's address: read = { url = \"file.url\" }";
            section.missing("read", hint);
        }
        Some(Word::AfterCreate | Word::None) if required => {
            let hint = "only what is sent before the ticket, or with it, can hold it up";
            section.error("required", "the ticket is there before its files", hint);
        }
        _ => {}
    }
    section.finish();
    Some(Attachments { way: way?, required, max_files, max_size, max_total, types, token_lives })
}

/// What each file adds to the ticket's request.
fn parts(section: &Section<'_>, names: &Names) -> Vec<(Template, Template)> {
    let Some(table) = section.table("parts") else {
        section.missing("parts", "parts = { \"attachments[]\" = \"{{ file.content }}\" }");
        return Vec::new();
    };
    let parts = request::pairs(&table, names, Use::Part);
    if !parts.iter().any(|(_, value)| value.source().replace(' ', "") == "{{file.content}}") {
        section.error("parts", "no part is the file", "parts = { \"attachments[]\" = \"{{ file.content }}\" }");
    }
    if parts.iter().any(|(name, _)| name.names().contains("file.content")) {
        section.error("parts", "the file's content stands in a part's name", "\"files[{{ file.index }}]\"");
    }
    parts
}

/// The request for one file, read like a step of the create.
fn step(section: &Section<'_>, names: &Names, purpose: Use) -> Option<Step> {
    let request = request::request(section, names, purpose);
    let read = answer::read(section, names, Use::Find);
    let outcome = answer::rules(section, names, Use::Find, CREATE_WORDS);
    let cost = meta::cost(section);
    if outcome.is_empty() {
        section.missing("outcome", "[[attachments.outcome]] status = [200, 201], is = \"created\"");
    }
    Some(Step {
        name: "file".to_owned(),
        kind: StepKind::Make { lookup: None, again: purpose == Use::File },
        when: None,
        best_effort: true,
        request: request?,
        read,
        outputs: Vec::new(),
        outcome,
        cost,
    })
}

fn types(section: &Section<'_>) -> Vec<String> {
    let Some(items) = section.take("types").and_then(|item| item.items()) else { return Vec::new() };
    let read = |item: &Item<'_>| {
        let text = item.string()?;
        if !is_mime(&text) {
            item.error(format!("`{text}` is no media type"), "\"image/*\", \"application/pdf\", in small letters");
        }
        Some(text)
    };
    items.iter().filter_map(read).collect()
}
