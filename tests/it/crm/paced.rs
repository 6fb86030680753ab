//! Budgets for an hour and a day hold up even those who wait, and lose nobody.

use std::time::Duration;

use zayavka::catalog::profile::built_in;

use crate::{
    databases::on_both,
    world::{ANNA, BORIS, Options, World},
};

const MINUTE: Duration = Duration::from_secs(60);

on_both! {
    async fn what_no_longer_fits_into_the_hour_waits_and_goes_when_there_is_room(db: Database) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("counted.toml");
        let text = built_in::text("generic-searchable").expect("it ships");
        let text = text
            .replacen("name = \"generic-searchable\"", "name = \"counted\"", 1)
            .replacen("[limits]\n", "[limits]\nper_minute = 4\nper_hour = 5\n", 1)
            .replacen("name = \"create\"", "name = \"create\"\ncost = 2", 1);
        std::fs::write(&file, text).expect("a file");
        let mut world = World::with(db, Options::searchable().places(9)).await;
        let section = format!(
            "[crm]\nprofile = \"{}\"\n[crm.vars]\nbase_url = \"{}\"\n[crm.secrets]\ntoken = \"sandbox-secret\"\n",
            file.display(),
            world.crm_url()
        );
        world.options = world.options.clone().with_crm(section);
        world.restart().await;
        world.apply(ANNA).await;
        world.apply(BORIS).await;
        assert_eq!((world.count().await, world.state(BORIS).await), (2, "created"));
        // The hour has room for one request, a ticket counts for two: somebody waits, and still it does not go.
        world.pass(MINUTE * 2).await;
        world.apply(ANNA).await;
        assert_eq!((world.count().await, world.state(ANNA).await), (2, "pending"));
        world.pass(MINUTE * 50).await;
        assert_eq!((world.count().await, world.state(ANNA).await), (2, "pending"));
        world.pass(MINUTE * 15).await;
        assert_eq!((world.count().await, world.state(ANNA).await), (3, "created"));
        world.finish().await;
    }
}
