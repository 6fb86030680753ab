//! What a loaded profile consists of. Every part was checked; nothing here can be half right.

use std::{collections::BTreeMap, time::Duration};

use serde_json::Value as Json;

mod attachments;
mod auth;
mod lookup;
mod step;

use super::{
    path::JsonPath,
    rule::{Pattern, Rule},
    template::Template,
};
use crate::domain::{operation::OnAbsent, outcome::Promise};

pub use attachments::{Attachments, Way};
pub use auth::{Auth, Signing, TokenAuth};
pub use lookup::{Lookup, Match, Same, Scan, Sees, Unrelated};
pub use step::{Find, Many, Step, StepKind};

/// One CRM, described: what to send, how to read the answer, what a repeat does.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// The file it came from, for messages.
    pub file: String,
    /// What it is and what it claims.
    pub meta: Meta,
    /// What the installation must say.
    pub vars: BTreeMap<String, Var>,
    /// What the installation must keep secret.
    pub secrets: BTreeMap<String, Secret>,
    /// How a request proves who sends it.
    pub auth: Auth,
    /// Headers that carry further secrets: name, and the secret's name; left out where that is not given.
    pub auth_headers: Vec<(String, String)>,
    /// How our key is written for this system.
    pub ext: Ext,
    /// How fast it may be asked.
    pub limits: Limits,
    /// The steps of a create in their order; exactly one of them makes the ticket.
    pub steps: Vec<Step>,
    /// What a ticket number looks like: nothing else is ever shown to a person.
    pub number: Pattern,
    /// Where a ticket is opened, if that can be said from its id or number.
    pub link: Option<Url>,
    /// Ways to find a ticket by our key, asked in this order.
    pub lookups: Vec<Lookup>,
    /// How one ticket is read by its number.
    pub verify: Option<Verify>,
    /// What a repeat of the create does.
    pub dedupe: Dedupe,
    /// What to do when the ticket is provably not there.
    pub on_absent: OnAbsent,
    /// What the installation must see to before the profile can keep its promise.
    pub prerequisites: Vec<Prerequisite>,
    /// Takes a record of a trial away again.
    pub cleanup: Option<Request>,
    /// What becomes of the files somebody attached.
    pub attachments: Attachments,
}

/// Something the installation must see to: a field, a right, a setting of the CRM.
#[derive(Debug, Clone, PartialEq)]
pub struct Prerequisite {
    /// What, in one sentence.
    pub text: String,
    /// Asks the CRM whether it is so; a person looks where there is nothing to ask.
    pub ask: Option<Request>,
    /// What must be so in the answer: the first rule that fits must be `answer`.
    pub outcome: Vec<Rule>,
}

/// What the profile is and what it claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    /// Its name, the same as its file's.
    pub name: String,
    /// The product.
    pub system: String,
    /// Versions of the product it is written for.
    pub versions: String,
    /// Which edition of the profile this is; its author counts.
    pub profile_version: Option<String>,
    /// What makes a repeat harmless.
    pub promise: Promise,
    /// Where that is known from.
    pub evidence: Vec<Evidence>,
    /// Against what it was tried; `None` is an unverified profile, whose unknowns a human settles.
    pub verified: Option<Verified>,
}

/// One source of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// What is claimed.
    pub claim: String,
    /// Page, repository path, issue, or measurement.
    pub source: String,
    /// `YYYY-MM-DD`.
    pub date: String,
    /// How far the source can be relied on; `None` where nobody has said.
    pub confidence: Option<Confidence>,
}

/// How far the source of a claim can be relied on, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Seen on a live system.
    Measured,
    /// Read in the vendor's own source.
    Code,
    /// The vendor's documentation.
    Doc,
    /// An issue, or a thread of the vendor's forum.
    Issue,
    /// Somebody else's page.
    ThirdParty,
    /// Common knowledge that nobody has looked up.
    General,
}

impl Confidence {
    /// All, with their words in a profile.
    pub const WORDS: [(&'static str, Self); 6] = [
        ("measured", Self::Measured),
        ("code", Self::Code),
        ("doc", Self::Doc),
        ("issue", Self::Issue),
        ("third_party", Self::ThirdParty),
        ("general", Self::General),
    ];

    /// Its word.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::WORDS.into_iter().find(|(_, known)| *known == self).map_or("", |(word, _)| word)
    }
}

/// A trial of the profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// `YYYY-MM-DD`.
    pub date: String,
    /// Product and version.
    pub against: String,
    /// Who tried it.
    pub by: Option<String>,
}

/// One variable of the installation.
#[derive(Debug, Clone, PartialEq)]
pub struct Var {
    /// Its type.
    pub kind: VarKind,
    /// Whether it must be given.
    pub required: bool,
    /// What it is when not given.
    pub default: Option<String>,
    /// What its text must look like, beyond its type.
    pub pattern: Option<Pattern>,
    /// What to put there.
    pub help: String,
}

/// The type of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VarKind {
    /// Any text.
    Text,
    /// A whole number.
    Int,
    /// An http or https URL without query, fragment and user.
    Url,
    /// `true` or `false`.
    Bool,
    /// One of these words.
    Enum(Vec<String>),
}

/// One secret of the installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// What to put there.
    pub help: String,
    /// Whether and how its end is known.
    pub expires: Expires,
    /// Whether it may be left out.
    pub optional: bool,
}

/// What is known of a secret's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expires {
    /// It has none, or nobody says.
    Never,
    /// It is a JSON web token and says so itself.
    Jwt,
    /// The CRM ends it this long after it was made.
    After(Duration),
}

/// How our key is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ext {
    /// What `ext.token` begins with, so that search engines of CRMs take it as one word.
    pub token_prefix: String,
    /// How many characters the CRM's field holds.
    pub max_len: usize,
}

/// How fast the CRM may be asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Requests a second over a long time.
    pub per_second: f64,
    /// Requests at once after a pause.
    pub burst: u32,
    /// Requests open at the same time.
    pub concurrency: u32,
    /// Requests within any minute, hour and day; all of them hold at once, beside the rate.
    pub budgets: Budgets,
}

/// How many requests may go within any such time; `None` is any number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Budgets {
    /// A minute.
    pub per_minute: Option<u32>,
    /// An hour.
    pub per_hour: Option<u32>,
    /// A day, any 24 hours.
    pub per_day: Option<u32>,
}

impl Budgets {
    /// Those that are given, with their keys and lengths.
    pub fn all(self) -> impl Iterator<Item = (&'static str, Duration, u32)> {
        let all = [
            ("per_minute", 60, self.per_minute),
            ("per_hour", 3_600, self.per_hour),
            ("per_day", 86_400, self.per_day),
        ];
        all.into_iter().filter_map(|(key, seconds, most)| Some((key, Duration::from_secs(seconds), most?)))
    }
}

/// A request to be rendered.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// `POST`, `GET`, …
    pub method: String,
    /// Where it goes, without query.
    pub url: Url,
    /// Query parameters in the file's order; empty values are left out.
    pub query: Vec<(Template, Template)>,
    /// A JSON document that is the whole query string, percent-encoded.
    pub query_json: Option<Node>,
    /// Headers in the file's order; empty values are left out.
    pub headers: Vec<(String, Template)>,
    /// What it carries.
    pub body: Body,
    /// The longest this exchange may take, where it is not the installation's usual time.
    pub timeout: Option<Duration>,
}

/// A URL template in two parts, since they are escaped in different ways.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// `https://host[:port][/prefix]`: either one variable of type `url`, or a literal with values in its host.
    pub base: Template,
    /// The path after it, each value one segment.
    pub path: Template,
    /// What follows the path as it stands, `#fragment` included; only links have one.
    pub tail: Option<Template>,
}

/// What a request carries.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// Nothing.
    None,
    /// A JSON document, `application/json` unless the headers say otherwise.
    Json(Node),
    /// `application/x-www-form-urlencoded`; a value that is a tree goes as JSON inside its field.
    Form(Vec<(Template, Node)>),
    /// One file, as it is.
    File,
    /// `multipart/form-data`; a field that is the file carries its bytes, a tree becomes fields `name[key]`.
    Multipart(Vec<(Template, Node)>),
}

/// A JSON tree with templates at its leaves.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// A leaf to be rendered; left out where it comes out empty.
    Leaf(Template),
    /// A leaf that is no text in the file: a number, true, false.
    Fixed(Json),
    /// A list; left out where all its elements were.
    List(Vec<Self>),
    /// A map; left out where all its values were.
    Map(Vec<(Template, Self)>),
}

/// Where an answer holds what we need; each a list of alternatives, the first that gives something counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Read {
    /// The CRM's internal id.
    pub id: Vec<Source>,
    /// What people call the ticket; the id where absent.
    pub number: Vec<Source>,
    /// Where to open it.
    pub url: Vec<Source>,
    /// Our key, given back.
    pub echo: Vec<Source>,
    /// What the CRM says to people.
    pub message: Vec<Source>,
    /// Seconds to wait.
    pub wait: Vec<Source>,
    /// Unix time to wait for, in seconds.
    pub wait_until: Vec<Source>,
}

/// One place in an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// Body or header.
    pub place: SourcePlace,
    /// What to cut out of the text found: the first group, or the whole match.
    pub regex: Option<Pattern>,
}

/// Where a source looks.
#[derive(Debug, Clone, PartialEq)]
pub enum SourcePlace {
    /// A path into the JSON body.
    Path(JsonPath),
    /// A header, by its name in lower case.
    Header(String),
}

/// How one ticket is read by its number.
#[derive(Debug, Clone, PartialEq)]
pub struct Verify {
    /// What is asked.
    pub request: Request,
    /// What the answer means.
    pub outcome: Vec<Rule>,
    /// The record inside the answer; the whole answer where absent.
    pub record: Option<JsonPath>,
    /// Where the record holds our key, if it does.
    pub matching: Option<Match>,
    /// Where the record holds what we need.
    pub read: Read,
    /// How many requests it counts for in the CRM's own reckoning.
    pub cost: u32,
}

/// What a repeat of the create does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dedupe {
    /// What the CRM does with a repeat under the same key.
    pub repeat: Repeat,
    /// The header or field that carries the key, for people.
    pub carrier: String,
    /// How long a repeat is safe after the first attempt; `None` is forever.
    pub ttl: Option<Duration>,
    /// The longest the CRM goes on with a request nobody waits for any more.
    pub server_max: Duration,
}

/// What the CRM does with a repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// Answers with the record it made before.
    ReturnsExisting,
    /// Refuses, since the key is there already.
    Refused,
    /// Writes over the record it made before.
    Updates,
    /// Makes another record.
    Duplicates,
}
