//! Command menus: each sees what they may use, and nobody else sees anything of it.

use futures_util::FutureExt as _;
use reqwest::Method;
use serde_json::{Value, json};
use zayavka::ids::UserId;

use super::moved_to;
use crate::{
    databases::on_both,
    world::{ANNA, OWNER, Options, REVIEWER, STAFF, VIEWER, World},
};

/// A colleague who has not opened the bot yet.
const LATER: i64 = 9004;

impl World {
    async fn bot(&self, method: &str, body: Value) -> Value {
        self.call(Method::POST, &format!("/bot{}/{method}", self.token()), body).await.1
    }

    /// The commands of one scope.
    async fn menu(&self, scope: Value) -> Vec<String> {
        let list = self.bot("getMyCommands", json!({ "scope": scope })).await;
        let all = list["result"].as_array().cloned().unwrap_or_default();
        all.iter().filter_map(|one| one["command"].as_str().map(str::to_owned)).collect()
    }

    async fn menus_are_shown(&self) {
        let whole = self.app().show_menus().await;
        assert!(whole.is_ok_and(|whole| whole), "the menus are shown");
    }
}

fn own(user: i64) -> Value {
    json!({ "type": "chat", "chat_id": user })
}

fn in_group(user: i64) -> Value {
    json!({ "type": "chat_member", "chat_id": STAFF, "user_id": user })
}

fn has(menu: &[String], name: &str) -> bool {
    menu.iter().any(|known| known == name)
}

on_both! {
    async fn in_the_staff_chat_only_staff_see_commands(db: Database) {
        let world = World::with(db, Options::searchable()).await;
        // As an earlier release left it.
        let all = json!({ "commands": [{ "command": "queue", "description": "очередь" }], "scope": own(STAFF) });
        world.bot("setMyCommands", all).await;
        assert!(has(&world.menu(own(STAFF)).await, "queue"));
        world.menus_are_shown().await;
        assert_eq!(world.menu(own(STAFF)).await, Vec::<String>::new(), "every member of the group saw them");
        assert_eq!(world.menu(in_group(ANNA)).await, Vec::<String>::new());
        for (who, decides) in [(OWNER, true), (REVIEWER, true), (VIEWER, false)] {
            let menu = world.menu(in_group(who)).await;
            assert!(has(&menu, "queue") && !has(&menu, "forget"), "{who}: {menu:?}");
            assert_eq!(has(&menu, "link"), decides, "{who}: {menu:?}");
        }
        world.finish().await;
    }

    async fn whoever_left_the_staff_while_nothing_ran_loses_their_menus(db: Database) {
        let mut world = World::with(db, Options::searchable()).await;
        for user in [OWNER, REVIEWER] {
            world.type_text(user, "/start").await;
        }
        world.menus_are_shown().await;
        assert!(has(&world.menu(own(REVIEWER)).await, "link"));
        // The list was changed with a restart: the new process never knew them.
        world.restart().await;
        let mut roster = (*world.app().roster.now()).clone();
        roster.reviewers.clear();
        world.app().roster.reload(roster);
        world.menus_are_shown().await;
        assert_eq!(world.menu(own(REVIEWER)).await, Vec::<String>::new());
        assert_eq!(world.menu(in_group(REVIEWER)).await, Vec::<String>::new());
        assert!(has(&world.menu(own(OWNER)).await, "link") && has(&world.menu(in_group(OWNER)).await, "link"));
        // Whoever comes back sees them again.
        let mut roster = (*world.app().roster.now()).clone();
        roster.viewers.push(UserId(REVIEWER));
        world.app().roster.reload(roster);
        world.menus_are_shown().await;
        let menu = world.menu(own(REVIEWER)).await;
        assert!(has(&menu, "queue") && has(&menu, "forget") && !has(&menu, "link"), "{menu:?}");
        world.finish().await;
    }

    async fn a_colleague_who_opens_the_bot_later_gets_a_menu(db: Database) {
        let mut world = World::with(db, Options::searchable()).await;
        let mut roster = (*world.app().roster.now()).clone();
        roster.reviewers.push(UserId(LATER));
        world.app().roster.reload(roster);
        world.menus_are_shown().await;
        assert_eq!(world.menu(own(LATER)).await, Vec::<String>::new(), "there is no chat with them yet");
        assert!(world.app().menus.stale().now_or_never().is_none());
        world.type_text(ANNA, "/start").await;
        assert!(world.app().menus.stale().now_or_never().is_none(), "a client is none of the staff");
        world.type_text(LATER, "/start").await;
        assert!(world.app().menus.stale().now_or_never().is_some(), "whoever keeps the menus is woken");
        world.menus_are_shown().await;
        assert!(has(&world.menu(own(LATER)).await, "link"));
        world.type_text(LATER, "/help").await;
        assert!(world.app().menus.stale().now_or_never().is_none(), "once");
        world.finish().await;
    }

    async fn menus_follow_the_group_that_became_a_supergroup(db: Database) {
        let mut world = World::with(db, Options::searchable()).await;
        world.menus_are_shown().await;
        let to = -1_002_000_000_002_i64;
        world.raw(moved_to(to)).await;
        assert!(world.app().menus.stale().now_or_never().is_some());
        world.menus_are_shown().await;
        let calls = world.calls("telegram", "setMyCommands").await;
        let of_reviewer = |call: &&Value| {
            let params = call["params"].to_string();
            params.contains(&to.to_string()) && params.contains(&REVIEWER.to_string())
        };
        assert_eq!(calls.iter().filter(of_reviewer).count(), 1, "{calls:?}");
        world.finish().await;
    }

    async fn menus_wait_for_a_telegram_that_is_away(db: Database) {
        let world = World::with(db, Options::searchable()).await;
        world.fault(json!({ "on": "setMyCommands", "from": 4, "times": 1, "do": "lose_request" })).await;
        assert!(world.app().show_menus().await.is_ok_and(|whole| !whole), "one of them did not arrive");
        world.mend().await;
        world.menus_are_shown().await;
        assert!(has(&world.menu(in_group(VIEWER)).await, "queue"));
        world.finish().await;
    }
}
