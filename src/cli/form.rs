//! `zayavka form preview`: a form's screens and ways, before anybody fills it in.

mod page;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde::Serialize;

use super::{Exit, complain, sample, unsound};
use crate::{
    catalog::{
        Catalog, forms,
        mapping::{Renderer, samples},
        texts::Texts,
    },
    config::{self, Config, files, problem::Problems},
    dialog::preview::Preview,
    domain::{
        branches::{self, Way},
        form::{Field, FieldKind, Form, summary_lines},
    },
    ids::{BotId, ConfirmVersion, DraftId, ExternalKey},
};

#[derive(Debug, Subcommand)]
pub(super) enum FormCommand {
    /// The form's screens and branches as text, and as a page.
    Preview(PreviewArgs),
}

#[derive(Debug, Args)]
pub(super) struct PreviewArgs {
    /// The form's file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Writes a page that shows the screens as a chat does.
    #[arg(long, value_name = "HTML")]
    page: Option<PathBuf>,
    /// The language of buttons and hints; that of the configuration where absent.
    #[arg(long, value_name = "LANG")]
    lang: Option<String>,
}

/// Everything there is to see of a form.
#[derive(Debug, Serialize)]
struct Sight {
    ok: bool,
    id: String,
    title: String,
    intro: String,
    version: String,
    lang: String,
    screens: Vec<Shown>,
    ways: Vec<WaySeen>,
    /// Whether `ways` are all there are.
    ways_complete: bool,
    /// The ticket that sample answers give.
    ticket: Ticket,
}

#[derive(Debug, Serialize)]
struct Shown {
    field: String,
    kind: &'static str,
    optional: bool,
    /// The condition it is asked under; always, where absent.
    when: Option<String>,
    /// Whether any way comes to it.
    reached: bool,
    text: Vec<String>,
    buttons: Vec<Vec<String>>,
}

#[derive(Debug, Serialize)]
struct WaySeen {
    /// The answers that decide: question's id and answer.
    decided_by: Vec<(String, String)>,
    asked: Vec<String>,
    summary: Vec<String>,
    buttons: Vec<Vec<String>>,
}

#[derive(Debug, Serialize)]
struct Ticket {
    subject: String,
    body: String,
    contact: std::collections::BTreeMap<&'static str, String>,
    fields: std::collections::BTreeMap<String, String>,
}

pub(super) fn run(config: &Path, command: &FormCommand, json: bool) -> Exit {
    let FormCommand::Preview(args) = command;
    match preview(config, args) {
        Ok(sight) => {
            if json {
                println!("{}", serde_json::to_string(&sight).unwrap_or_default());
            } else {
                print!("{}", in_words(&sight));
            }
            match &args.page {
                Some(path) => written(path, &sight, json),
                None => Exit::Done,
            }
        }
        Err((problems, exit)) => {
            if json {
                println!("{}", unsound(&problems));
            } else {
                complain(&problems);
            }
            exit
        }
    }
}

fn written(path: &Path, sight: &Sight, json: bool) -> Exit {
    if let Err(error) = std::fs::write(path, page::html(sight)) {
        eprintln!("{}: cannot be written: {error}\n  name a file in a folder that is there", path.display());
        return Exit::Usage;
    }
    if !json {
        println!("\nThe page: {}", path.display());
    }
    Exit::Done
}

fn preview(config: &Path, args: &PreviewArgs) -> Result<Sight, (Problems, Exit)> {
    let mut problems = Problems::new();
    let Some(text) = files::read(&args.file, &mut problems) else { return Err((problems, Exit::Usage)) };
    let form = forms::load(&args.file.display().to_string(), &text, &mut problems);
    // A form can be looked at before there is a configuration; where there is one, its texts are the ones people see.
    let config = config.is_file().then(|| Config::load(Some(config), &config::environment()).ok()).flatten();
    let (dir, default) = match &config {
        Some(config) => (Some(config.templates.dir.as_path()), config.templates.language.as_str()),
        None => (None, "ru"),
    };
    let texts = Catalog::texts(dir.filter(|dir| dir.is_dir()), default, &mut problems);
    let (Some(form), Some(texts)) = (form, texts) else { return Err((problems, Exit::NotWell)) };
    let lang = args.lang.as_deref().unwrap_or(default);
    if !texts.langs().contains(&lang) {
        let what = format!("there are no texts in the language `{lang}`");
        problems.error("--lang", None, what, format!("one of {}", texts.langs().join(", ")));
        return Err((problems, Exit::Usage));
    }
    complain(&problems);
    sight(&form, &texts, lang).map_err(|why| {
        let mut problems = Problems::new();
        problems.error(args.file.display().to_string(), None, why, "see the templates under [ticket]");
        (problems, Exit::NotWell)
    })
}

fn sight(form: &Form, texts: &Texts, lang: &str) -> Result<Sight, String> {
    let found = branches::ways(form, &samples(&form.fields));
    let preview = Preview { form, texts, lang };
    let screens = form.fields.iter().map(|field| shown(&preview, field, &found.ways)).collect();
    let ways = found.ways.iter().map(|way| way_seen(&preview, way)).collect();
    let ticket = ticket(form, found.ways.first(), lang)?;
    Ok(Sight {
        ok: true,
        id: form.id.clone(),
        title: form.title.clone(),
        intro: form.intro.clone(),
        version: form.version.to_string(),
        lang: lang.to_owned(),
        screens,
        ways,
        ways_complete: found.complete,
        ticket,
    })
}

fn shown(preview: &Preview<'_>, field: &Field, ways: &[Way]) -> Shown {
    let way = ways.iter().find(|way| way.asked.contains(&field.id));
    let screen = way.map(|way| preview.question(field, way));
    let (text, buttons) =
        screen.map_or_else(|| (vec![field.ask.clone()], Vec::new()), |screen| (screen.texts, screen.buttons));
    Shown {
        field: field.id.clone(),
        kind: kind(&field.kind),
        optional: field.optional,
        when: field.when.as_ref().map(|when| when.source().to_owned()),
        reached: way.is_some(),
        text,
        buttons,
    }
}

fn way_seen(preview: &Preview<'_>, way: &Way) -> WaySeen {
    let answer = |id: &String| way.answers.get(id).map(|answer| (id.clone(), answer.display()));
    let screen = preview.summary(way);
    WaySeen {
        decided_by: way.decides.iter().filter_map(answer).collect(),
        asked: way.asked.clone(),
        summary: screen.texts,
        buttons: screen.buttons,
    }
}

fn ticket(form: &Form, way: Option<&Way>, lang: &str) -> Result<Ticket, String> {
    let answers = way.map_or_else(|| samples(&form.fields), |way| way.answers.clone());
    let lines = summary_lines(form, &answers).into_iter().map(|(ask, answer)| format!("{ask}\n{answer}"));
    let summary = lines.collect::<Vec<_>>().join("\n\n");
    let key = ExternalKey::derive(BotId(0), DraftId(uuid::Uuid::nil()), ConfirmVersion(0));
    let order = sample::ticket(&Renderer::default(), form, &answers, (key, lang), &summary)?;
    let contact = [("name", order.contact.name), ("phone", order.contact.phone), ("email", order.contact.email)];
    Ok(Ticket {
        subject: order.subject,
        body: order.body,
        contact: contact.into_iter().filter_map(|(name, value)| Some((name, value?))).collect(),
        fields: order.fields,
    })
}

fn kind(kind: &FieldKind) -> &'static str {
    match kind {
        FieldKind::Text { .. } => "text",
        FieldKind::Phone { .. } => "phone",
        FieldKind::Email => "email",
        FieldKind::Choice { .. } => "choice",
        FieldKind::Slot { .. } => "slot",
        FieldKind::Consent { .. } => "consent",
        FieldKind::Number { .. } => "number",
        FieldKind::Date => "date",
        FieldKind::Files { .. } => "files",
    }
}

fn in_words(sight: &Sight) -> String {
    let mut out = format!("Form {}: {} (version {})\n", sight.id, sight.title, sight.version);
    for (number, screen) in sight.screens.iter().enumerate() {
        let optional = if screen.optional { ", optional" } else { "" };
        let when = screen.when.as_ref().map(|when| format!(", asked when {when}")).unwrap_or_default();
        let never = if screen.reached { "" } else { ", never reached" };
        out.push_str(&format!("\n{}. {} ({}{optional}{when}{never})\n", number + 1, screen.field, screen.kind));
        out.push_str(&bubble(&screen.text, &screen.buttons));
    }
    out.push_str(&format!("\nWays through it: {}", sight.ways.len()));
    out.push_str(if sight.ways_complete { "\n" } else { " and more\n" });
    for (number, way) in sight.ways.iter().enumerate() {
        let decided: Vec<_> = way.decided_by.iter().map(|(id, answer)| format!("{id} = {answer}")).collect();
        let decided = if decided.is_empty() { String::new() } else { format!("{}: ", decided.join(", ")) };
        out.push_str(&format!("  {}. {decided}{} → summary\n", number + 1, way.asked.join(" → ")));
    }
    if let Some(way) = sight.ways.first() {
        out.push_str("\nThe summary of the first, with sample answers\n");
        out.push_str(&bubble(&way.summary, &way.buttons));
    }
    let ticket = &sight.ticket;
    out.push_str(&format!("\nIts ticket\n  subject  {}\n", ticket.subject));
    for (name, value) in &ticket.contact {
        out.push_str(&format!("  {name:8} {value}\n"));
    }
    for (name, value) in &ticket.fields {
        out.push_str(&format!("  {name} = {value}\n"));
    }
    out.push_str("  body\n");
    out.extend(ticket.body.lines().map(|line| format!("    {line}\n")));
    out
}

/// A message with its buttons.
fn bubble(texts: &[String], rows: &[Vec<String>]) -> String {
    let mut out = String::new();
    for text in texts {
        out.extend(text.lines().map(|line| format!("   │ {line}").trim_end().to_owned() + "\n"));
    }
    for row in rows {
        let buttons: Vec<_> = row.iter().map(|label| format!("[{label}]")).collect();
        out.push_str(&format!("   {}\n", buttons.join(" ")));
    }
    out
}
