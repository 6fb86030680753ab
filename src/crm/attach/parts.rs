//! What files add to the ticket's request where they go as parts of one form.

use serde_json::json;

use super::super::{
    files::{self, Contents},
    multipart::{Carried, Part},
    request::PrepareError,
    scope::{self, Vars},
};
use crate::{
    catalog::profile::template::Template,
    domain::{attachment::Attachment, ticket::TicketOrder},
};

/// A file as the templates of its parts see it; the mark stands for its content.
#[derive(Debug)]
pub(in crate::crm) struct Shown<'o> {
    pub(in crate::crm) file: &'o Attachment,
    pub(in crate::crm) mark: String,
    pub(in crate::crm) name: String,
    pub(in crate::crm) sha256: String,
}

/// The files that go.
pub(super) fn shown<'o>(order: &'o TicketOrder, contents: &Contents) -> Vec<Shown<'o>> {
    let all = contents.iter().filter_map(|(at, content)| {
        let (file, mark) = (order.files.get(*at)?, files::mark(order.key, *at));
        Some(Shown { file, mark, name: file.file_name(at + 1), sha256: files::sha256(content) })
    });
    all.collect()
}

/// The parts of all files, each file's in the order of the profile.
///
/// # Errors
/// A value does not fit its place.
pub(in crate::crm) fn of<'a>(
    templates: &[(Template, Template)],
    vars: &Vars,
    files: &'a [Shown<'_>],
) -> Result<Vec<Part<'a>>, PrepareError> {
    let mut parts = Vec::new();
    for (index, Shown { file, mark, name, sha256 }) in files.iter().enumerate() {
        let scope = scope::part(
            vars,
            &json!({
                "name": name, "type": file.mime, "size": file.size, "content": mark, "index": index, "number": index + 1,
            }),
        );
        let carried = Carried { mark, name, mime: &file.mime, sha256 };
        for (name, value) in templates {
            let (name, text) = (name.text(&scope)?, value.text(&scope)?);
            if !text.is_empty() {
                parts.push(Part::new(name, text, Some(&carried)));
            }
        }
    }
    Ok(parts)
}
