//! Looking at the desk from a shell: the queue, a case, the shelf, the day in figures.

use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::{
    Exit,
    desk::{Desk, one},
};
use crate::{
    catalog::wording::{age, matter_words, span, state_words, visible},
    domain::review::{WORDS, redact},
    ids::UserId,
    outbox::case_card,
    store::{
        StoreError,
        cases::{self, Case, Filter},
        figures, inbox,
        operations::{self, Stored},
    },
};

/// Cases on one page.
const PAGE: u64 = 50;

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// Which page, counted from 1; 50 cases each.
    #[arg(long, default_value_t = 1)]
    page: u64,
    /// Only this form's.
    #[arg(long)]
    form: Option<String>,
    /// Only this reason.
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(WORDS))]
    reason: Option<String>,
    /// Only what --as works on.
    #[arg(long)]
    mine: bool,
    /// Only what this person has taken, by numeric id, or `none` for what nobody has.
    #[arg(long, value_name = "ID", value_parser = owner, conflicts_with = "mine")]
    owner: Option<Owner>,
}

/// Whose cases are listed.
#[derive(Debug, Clone, Copy)]
enum Owner {
    Nobody,
    Person(UserId),
}

fn owner(text: &str) -> Result<Owner, String> {
    if text == "none" {
        return Ok(Owner::Nobody);
    }
    let id = text.parse::<i64>().ok().filter(|id| *id > 0).ok_or("a numeric id, or none")?;
    Ok(Owner::Person(UserId(id)))
}

/// A case with its operation, as it is shown.
struct Row {
    case: Case,
    stored: Option<Stored>,
}

impl Row {
    async fn of(desk: &Desk, case: Case) -> Result<Self, StoreError> {
        let stored = match case.operation {
            Some(operation) => operations::load(desk.store.reader(), operation).await?,
            None => None,
        };
        Ok(Self { case, stored })
    }

    fn name(&self) -> String {
        self.stored.as_ref().map_or_else(|| format!("#{}", self.case.id), |stored| stored.marker.to_string())
    }

    fn json(&self, desk: &Desk) -> Value {
        let taken = self.case.holder(desk.now());
        json!({
            "case": self.case.id, "name": self.name(), "rev": self.case.rev,
            "reason": self.case.matter.word(), "about": self.case.matter,
            "opened_at": self.case.opened_at.rfc3339(),
            "closed_at": self.case.closed.as_ref().map(|closed| closed.at.rfc3339()),
            "taken_by": taken.map(|taken| taken.by), "taken_until": taken.map(|taken| taken.until.rfc3339()),
            "operation": self.stored.as_ref().map(operation),
        })
    }

    fn line(&self, desk: &Desk) -> String {
        let (texts, lang, now) = (&desk.staff.texts, desk.lang(), desk.now());
        let age = age(texts, lang, now, self.case.opened_at);
        let mut line =
            format!("#{} {} · {age} · {}", self.case.id, self.name(), matter_words(texts, lang, &self.case.matter));
        if let Some(taken) = self.case.holder(now) {
            line.push_str(&format!(" · {}", taken.by));
        }
        line
    }
}

/// What a card shows of an operation beside where it stands.
struct Shown {
    client: String,
    sent: String,
    answers: Vec<String>,
    /// How long its person has waited; nobody waits once it has ended.
    waits: Option<Duration>,
}

impl Shown {
    async fn of(desk: &Desk, stored: &Stored) -> Result<Self, StoreError> {
        let attempts = operations::attempts(desk.store.reader(), stored.operation.id).await?;
        let waits = (!stored.operation.state.is_final()).then(|| desk.now().since(stored.operation.confirmed_at));
        let (texts, hours) = (&desk.staff.texts, &desk.staff.hours);
        let answers = case_card::answers(texts, desk.lang(), hours, &attempts);
        Ok(Self { client: case_card::client(stored), sent: case_card::sent(stored), answers, waits })
    }

    fn json(&self, stored: &Stored) -> Value {
        let mut all = operation(stored);
        all["client"] = json!(self.client);
        all["sent"] = json!(self.sent);
        all["answers"] = json!(self.answers);
        all["waiting_seconds"] = json!(self.waits.map(|waits| waits.as_secs()));
        all
    }

    fn print(&self, desk: &Desk) {
        println!("  client: {}", self.client);
        if let Some(waits) = self.waits {
            println!("  waiting: {}", span(&desk.staff.texts, desk.lang(), waits));
        }
        println!("  sent: {}", self.sent.replace('\n', "\n  "));
        for answer in &self.answers {
            println!("  answer: {}", answer.replace('\n', "\n  "));
        }
    }
}

/// An operation for programs, without answers.
pub(super) fn operation(stored: &Stored) -> Value {
    let operation = &stored.operation;
    json!({
        "id": operation.id, "marker": stored.marker, "form": stored.form, "state": operation.state.name(),
        "stands": operation.state, "attempts": operation.attempts, "confirmed_at": operation.confirmed_at.rfc3339(),
        "draft": operation.draft, "version": operation.version,
    })
}

pub(super) async fn list(desk: &Desk, args: &ListArgs, who: Option<i64>) -> Result<Exit, Exit> {
    if args.mine && who.is_none() {
        eprintln!("--mine needs --as");
        return Err(Exit::Usage);
    }
    let (taken_by, untaken) = match args.owner {
        Some(Owner::Nobody) => (None, true),
        Some(Owner::Person(user)) => (Some(user), false),
        None => (who.map(UserId).filter(|_| args.mine), false),
    };
    let filter = Filter { form: args.form.clone(), word: args.reason.clone(), taken_by, untaken };
    let (db, bot, page) = (desk.store.reader(), desk.staff.bot, args.page.max(1));
    let trouble = |error: StoreError| Desk::trouble(&error);
    let total = cases::count_open(db, bot, &filter).await.map_err(trouble)?;
    let mut rows = Vec::new();
    for case in cases::queue(db, bot, &filter, (page - 1) * PAGE, PAGE).await.map_err(trouble)? {
        rows.push(Row::of(desk, case).await.map_err(trouble)?);
    }
    if desk.json {
        let listed: Vec<_> = rows.iter().map(|row| row.json(desk)).collect();
        println!("{}", json!({"total": total, "page": page, "cases": listed}));
    } else {
        println!("{total} waiting");
        for row in &rows {
            println!("{}", row.line(desk));
        }
    }
    Ok(Exit::Done)
}

pub(super) async fn show(desk: &Desk, name: &str) -> Result<Exit, Exit> {
    let (db, bot) = (desk.store.reader(), desk.staff.bot);
    let trouble = |error: StoreError| Desk::trouble(&error);
    let rows = if let Some(number) = name.strip_prefix('#').and_then(|digits| digits.parse().ok()) {
        let Some(case) = cases::load_of(db, bot, number).await.map_err(trouble)? else {
            eprintln!("there is no case {name}");
            return Err(Exit::NotWell);
        };
        vec![Row::of(desk, case).await.map_err(trouble)?]
    } else {
        let stored = one(operations::named(db, bot, name).await.map_err(trouble)?, name).map_err(|words| {
            eprintln!("{words}");
            Exit::NotWell
        })?;
        let all = cases::of_operation(db, stored.operation.id).await.map_err(trouble)?;
        if all.is_empty() {
            let shown = Shown::of(desk, &stored).await.map_err(trouble)?;
            if desk.json {
                println!("{}", json!({"operation": shown.json(&stored), "cases": []}));
            } else {
                println!("{}: {}", stored.marker, state_words(&desk.staff.texts, desk.lang(), &stored.operation));
                shown.print(desk);
            }
            return Ok(Exit::Done);
        }
        all.into_iter().map(|case| Row { case, stored: Some(stored.clone()) }).collect()
    };
    // All cases of one name are about one operation.
    let stored = rows.first().and_then(|row| row.stored.as_ref());
    let shown = match stored {
        Some(stored) => Some((stored, Shown::of(desk, stored).await.map_err(trouble)?)),
        None => None,
    };
    if desk.json {
        let operation = shown.as_ref().map(|(stored, shown)| shown.json(stored));
        let listed: Vec<_> = rows.iter().map(|row| row.json(desk)).collect();
        println!("{}", json!({"operation": operation, "cases": listed}));
        return Ok(Exit::Done);
    }
    for row in &rows {
        println!("{}", row.line(desk));
        if let Some(stored) = &row.stored {
            println!("  {}: {}", stored.form_title, state_words(&desk.staff.texts, desk.lang(), &stored.operation));
        }
        for ticket in row.case.matter.candidates() {
            println!("  {} {}", ticket.number, ticket.url.as_deref().unwrap_or_default());
        }
    }
    if let Some((_, shown)) = &shown {
        shown.print(desk);
    }
    Ok(Exit::Done)
}

pub(super) async fn find(desk: &Desk, text: &str) -> Result<Exit, Exit> {
    let text = text.trim();
    if text.is_empty() {
        eprintln!("what is to be found? Give a ticket's number, a marker, the end of a telephone number, or a name");
        return Err(Exit::Usage);
    }
    let found = operations::find(desk.store.reader(), desk.staff.bot, text, 50).await;
    let found = found.map_err(|error| Desk::trouble(&error))?;
    let ended = if found.is_empty() { Exit::NotWell } else { Exit::Done };
    if desk.json {
        println!("{}", json!({"operations": found.iter().map(operation).collect::<Vec<_>>()}));
        return Ok(ended);
    }
    if found.is_empty() {
        eprintln!("nothing is known by `{}`", visible(text));
    }
    for stored in &found {
        let state = state_words(&desk.staff.texts, desk.lang(), &stored.operation);
        let name = stored.client_name.as_deref().map(visible).unwrap_or_default();
        let tail = stored.client_phone.as_deref().map(redact).unwrap_or_default();
        let confirmed = stored.operation.confirmed_at;
        println!("{} · {state} · {} · {name} {tail} · {confirmed}", stored.marker, stored.form_title);
    }
    Ok(ended)
}

pub(super) async fn stats(desk: &Desk) -> Result<Exit, Exit> {
    let now = desk.now();
    let since = desk.staff.hours.day_of(now);
    let day = figures::since(desk.store.reader(), desk.staff.bot, since, now).await;
    let day = day.map_err(|error| Desk::trouble(&error))?;
    let figures = json!({"since": since.rfc3339(), "figures": day});
    if desk.json {
        println!("{figures}");
    } else if let Some(figures) = figures["figures"].as_object() {
        println!("since {since}");
        for (name, value) in figures {
            println!("{name}: {value}");
        }
    }
    Ok(Exit::Done)
}

pub(super) async fn shelf(desk: &Desk) -> Result<Exit, Exit> {
    let rows = inbox::shelf(desk.store.reader(), desk.staff.bot, 1_000).await;
    let rows = rows.map_err(|error| Desk::trouble(&error))?;
    let listed = rows.iter().map(|row| {
        json!({"row": row.row, "update": row.update, "received_at": row.received_at.rfc3339(), "error": redact(&row.error)})
    });
    let listed: Vec<_> = listed.collect();
    if desk.json {
        println!("{}", json!({"shelf": listed}));
    } else if listed.is_empty() {
        println!("The shelf is empty.");
    } else {
        for row in &rows {
            println!("{} · update {} · {} · {}", row.row, row.update, row.received_at, redact(&row.error));
        }
    }
    Ok(Exit::Done)
}
