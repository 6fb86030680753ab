//! The composition: the only place that knows all parts. Built from a configuration and a clock; run by
//! [`lifecycle`], or step by step by tests.

pub mod by_hand;
pub mod desk;
pub mod lifecycle;
mod menu;
mod saying;
pub mod setup;

use std::sync::{Arc, Mutex, atomic::AtomicBool};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    catalog::texts::Texts,
    clock::{Clock, Dice, Hindsight},
    config::Config,
    crm::{
        Crm,
        limiter::{Limiter, Pace},
    },
    dialog::{Dialog, Limits},
    domain::{notice::NoticeKind, role::LiveRoster},
    inbox::{Inbox, routes},
    outbox::{AtCommit, Outbox},
    points::Points,
    staff::{Menus, Staff},
    store::{Store, StoreError, operations::Author, outbox::Herald, settings},
    telegram::{Answer, BotName, Telegram},
    worker::{AtTap, Resting, SharedTokens, TelegramFiles, Worker, outage::Outage, remind::Reminder, retain::Retainer},
};

pub use desk::{author, desk, roster};
pub use setup::{Checked, check};

/// Everything of one process, ready to run.
#[derive(Debug)]
pub struct App {
    /// What the operator wrote.
    pub config: Config,
    /// The database.
    pub store: Store,
    /// The Bot API.
    pub telegram: Telegram,
    /// The bot's name, once it is known.
    pub username: BotName,
    /// The staff, as it is now: a reload counts from the next action.
    pub roster: LiveRoster,
    /// Whose command menus are in place; they follow when the staff changes.
    pub menus: Menus,
    /// Every sentence.
    pub texts: Arc<Texts>,
    /// Takes updates in and handles them.
    pub inbox: Inbox,
    /// Carries operations to the CRM.
    pub worker: Arc<Worker>,
    /// Does what time alone asks for at the staff's desk.
    pub reminder: Reminder,
    /// Notices when nobody could take updates in.
    pub outage: Arc<Outage>,
    /// Erases what has been kept long enough.
    pub retainer: Retainer,
    /// Says what is stored to be said.
    pub outbox: Arc<Outbox>,
    /// Whether what waits at Telegram is dropped at the first contact: an operator asked for it, for this start alone.
    pub drop_waiting: bool,
    /// Time.
    pub clock: Arc<dyn Clock>,
}

/// Why a service cannot start.
#[derive(Debug)]
pub enum StartError {
    /// The database.
    Store(StoreError),
    /// Telegram does not know the token.
    Token(String),
    /// Anything else, in words.
    Other(String),
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Store(error) => write!(f, "the database ([database] url): {error}"),
            Self::Token(said) => {
                write!(f, "Telegram does not accept the token ({said}): check telegram.token and telegram.api_url")
            }
            Self::Other(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for StartError {}

impl From<StoreError> for StartError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl App {
    /// Connects, migrates, and puts the parts together. Telegram is asked for the bot's name; while it cannot be
    /// reached, the service starts without one.
    ///
    /// # Errors
    /// [`StartError`] when the database cannot be used or Telegram refuses the token.
    pub async fn build(
        config: Config,
        checked: Checked,
        clock: Arc<dyn Clock>,
        dice: Arc<dyn Dice>,
    ) -> Result<Self, StartError> {
        Self::build_watched(config, checked, clock, dice, Points::default()).await
    }

    /// The same, with a watcher at the points where a process may die.
    ///
    /// # Errors
    /// [`StartError`] when the database cannot be used or Telegram refuses the token.
    pub async fn build_watched(
        config: Config,
        checked: Checked,
        clock: Arc<dyn Clock>,
        dice: Arc<dyn Dice>,
        points: Points,
    ) -> Result<Self, StartError> {
        use secrecy::ExposeSecret as _;
        let store = Store::connect_as(config.database.url.expose_secret(), config.database.pooler, points).await?;
        store.migrate().await?;
        store.try_writing(clock.now()).await?;
        let telegram =
            Telegram::new(&config.telegram.api_url, config.telegram.token.clone(), config.telegram.request_timeout)
                .map_err(|error| StartError::Other(error.to_string()))?;
        let username = BotName::default();
        greet(&telegram, &username).await?;
        forget_old_credentials(&store, clock.as_ref()).await?;
        let app = Self::assemble(config, checked, clock, dice, store, telegram, username);
        app.outbox.rescue().await?;
        let freed = app.store.take_over(app.config.telegram.bot_id, app.clock.now()).await?;
        if freed > 0 {
            tracing::info!(updates = freed, "updates that were left in hand are handled now");
        }
        Ok(app)
    }

    fn assemble(
        config: Config,
        checked: Checked,
        clock: Arc<dyn Clock>,
        dice: Arc<dyn Dice>,
        store: Store,
        telegram: Telegram,
        username: BotName,
    ) -> Self {
        let author = author(&config, dice.as_ref());
        let desk = desk(&config, &checked, author.clone(), Arc::clone(&clock));
        let staff = Staff { username: username.clone(), ..desk };
        let (roster, menus) = (staff.roster.clone(), staff.menus.clone());
        let Checked { catalog, crm, policy, .. } = checked;
        let bot = config.telegram.bot_id;
        let tokens = SharedTokens {
            store: store.clone(),
            holder: author.worker.clone(),
            patience: config.crm.request_timeout * 2,
            clock: Arc::clone(&clock),
        };
        let files = Arc::new(TelegramFiles(telegram.clone()));
        let (crm, policy) = (Arc::new(crm.with_tokens(Arc::new(tokens)).with_files(files)), Arc::new(policy));
        let figures = crm.figures();
        let limiter = Limiter::new(Pace::of(&figures), clock.now());
        let limiter = Arc::new(Mutex::new(limiter));
        let outbox = Arc::new(Outbox {
            limiter: Arc::clone(&limiter),
            store: store.clone(),
            telegram: telegram.clone(),
            bot,
            texts: Arc::clone(&catalog.texts),
            roster: roster.clone(),
            hours: config.staff.hours,
            policy: setup::delivery_policy(&config),
            pace: config.pace,
            on_unknown: config.notices.on_unknown,
            can_look: policy.can_look,
            clock: Arc::clone(&clock),
            queue: Arc::default(),
        });
        let herald: Arc<dyn Herald> = Arc::new(AtCommit(Arc::downgrade(&outbox)));
        let parts = (crm, Arc::clone(&policy), author.clone(), Arc::clone(&herald), limiter);
        let worker = Arc::new(worker(&config, parts, &store, &clock, Arc::clone(&dice)));
        let dialog = Dialog {
            bot,
            username: username.clone(),
            catalog: Arc::clone(&catalog),
            limits: Limits {
                open_drafts: config.limits.open_drafts_per_client.into(),
                submissions_per_hour: config.limits.submissions_per_client_per_hour.into(),
            },
            ack_grace: setup::ACK_GRACE,
            starter: Arc::new(AtTap(Arc::downgrade(&worker))),
            policy: Arc::clone(&policy),
            delivery: setup::delivery_policy(&config),
            author: author.clone(),
            clock: Arc::clone(&clock),
            dice: Arc::clone(&dice),
        };
        let inbox = Inbox {
            store: store.clone(),
            telegram: telegram.clone(),
            bot,
            routes: Arc::new(routes(dialog, staff)),
            herald,
            staff_unknown: config.notices.on_unknown.of(NoticeKind::StaffCard),
            clock: Arc::clone(&clock),
        };
        let reminder = Reminder {
            store: store.clone(),
            bot,
            texts: Arc::clone(&catalog.texts),
            roster: roster.clone(),
            hours: config.staff.hours,
            remind_after: config.staff.remind_after,
            escalate_after: config.staff.escalate_after,
            client_update_after: config.staff.client_update_after,
            on_unknown: config.notices.on_unknown,
            clock: Arc::clone(&clock),
        };
        let outage = Outage {
            store: store.clone(),
            bot,
            texts: Arc::clone(&catalog.texts),
            clock: Arc::clone(&clock),
            known: Mutex::default(),
        };
        let retainer = Retainer {
            store: store.clone(),
            bot,
            periods: config.retention,
            holder: author.worker.clone(),
            clock: Arc::clone(&clock),
            rest: Mutex::default(),
        };
        Self {
            texts: Arc::clone(&catalog.texts),
            config,
            store,
            telegram,
            username,
            roster,
            menus,
            inbox,
            worker,
            reminder,
            outage: Arc::new(outage),
            retainer,
            outbox,
            drop_waiting: false,
            clock,
        }
    }
}

type Parts = (Arc<Crm>, Arc<crate::domain::operation::Policy>, Author, Arc<dyn Herald>, Arc<Mutex<Limiter>>);

fn worker(
    config: &Config,
    (crm, policy, author, herald, limiter): Parts,
    store: &Store,
    clock: &Arc<dyn Clock>,
    dice: Arc<dyn Dice>,
) -> Worker {
    let figures = crm.figures();
    let concurrency = usize::from(config.worker.concurrency).min(figures.concurrency as usize).max(1);
    Worker {
        store: store.clone(),
        crm,
        policy,
        bot: config.telegram.bot_id,
        author,
        concurrency,
        limiter,
        clock: Arc::clone(clock),
        dice,
        busy: Mutex::default(),
        delivery: setup::delivery_policy(config),
        hindsight: Hindsight::default(),
        following: tokio::sync::Mutex::default(),
        begun: Mutex::default(),
        herald,
        cut: CancellationToken::new(),
        rivalled: AtomicBool::default(),
        resting: Resting::default(),
    }
}

/// Learns the bot's name. `false` while Telegram cannot be reached.
///
/// # Errors
/// [`StartError::Token`] when Telegram does not know the token.
pub(crate) async fn greet(telegram: &Telegram, name: &BotName) -> Result<bool, StartError> {
    match telegram.call("getMe", &serde_json::json!({})).await {
        Answer::Ok(me) => {
            let username = me.get("username").and_then(Value::as_str).unwrap_or_default().to_owned();
            tracing::info!(bot.username = username, "Telegram knows the bot");
            name.learn(username);
            Ok(true)
        }
        Answer::Refused(refusal) if matches!(refusal.code, 401 | 404) => {
            Err(StartError::Token(format!("{} {}", refusal.code, refusal.description)))
        }
        other => {
            tracing::warn!(
                ?other,
                "Telegram cannot be asked for the bot's name now; going on without it for the moment"
            );
            Ok(false)
        }
    }
}

/// A pause for refused credentials ends with a start, which may have brought other ones; one refusal sets it again.
async fn forget_old_credentials(store: &Store, clock: &dyn Clock) -> Result<(), StoreError> {
    let paused = settings::get(store.reader(), settings::PAUSED).await?;
    if paused.as_deref() == Some(settings::PAUSED_FOR_CREDENTIALS) {
        let now = clock.now();
        store.write(move |tx| async move { settings::set(tx.as_ref(), settings::PAUSED, "", now).await }).await?;
    }
    Ok(())
}
