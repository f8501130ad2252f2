//! What a configuration may be, and what is said when it is not.

use std::fs;

use serde::{Deserialize, Serialize};

use super::{
    AdminSection, Invalid, LogFormat, NatsSection, RedisSection, Sections, ServiceConfig, ServiceSection,
    load, parse,
};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Config {
    service: ServiceSection,
    admin: AdminSection,
    nats: NatsSection,
    redis: RedisSection,
    grader: Grader,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Grader {
    slots: usize,
    tasks: String,
    extra: Option<f64>,
}

impl ServiceConfig for Config {
    fn sections(&self) -> Sections<'_> {
        Sections {
            service: &self.service,
            admin: &self.admin,
            nats: &self.nats,
            redis: &self.redis,
        }
    }

    fn validate(&self) -> Result<(), Invalid> {
        match self.grader.slots {
            13 => Err(Invalid::new("grader.slots", 13, "another number")),
            _ => Ok(()),
        }
    }
}

/// Loads `toml` and the variables; an error comes with its causes.
fn loaded(toml: &str, variables: &[(&str, &str)]) -> Result<Config, String> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("grader.toml");
    fs::write(&path, toml).expect("a file in it");
    let variables = variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    load(Some(&path), variables).map_err(|error| crate::chain(&error))
}

fn refused(toml: &str, variables: &[(&str, &str)]) -> String {
    loaded(toml, variables).expect_err("it is wrong")
}

#[test]
fn environment_goes_over_file_goes_over_defaults() {
    let toml = "[nats]\nurl = \"nats://file:1\"\n[grader]\nslots = 3\n[service]\nlog_format = \"json\"\n";
    let config = loaded(toml, &[("JOURNEYMAN__GRADER__SLOTS", "5"), ("PATH", "/bin")]).expect("it is right");
    assert_eq!(config.nats.url, "nats://file:1");
    assert_eq!(config.grader.slots, 5);
    assert_eq!(config.service.log_format, LogFormat::Json);
    assert_eq!(config.redis, RedisSection::default());
    assert_eq!(loaded("", &[]), Ok(Config::default()));
}

#[test]
fn unknown_key_in_the_file_is_refused_with_its_line_and_the_valid_keys() {
    let error = refused("[grader]\nslots = 3\nslot = 4\n", &[]);
    assert!(error.contains("grader.toml` is not right"), "{error}");
    assert!(error.contains("line 3"), "{error}");
    assert!(error.contains("unknown field `slot`"), "{error}");
    assert!(error.contains("`slots`, `tasks`, `extra`"), "{error}");
    let error = refused("[nuts]\nurl = \"x\"\n", &[]);
    assert!(
        error.contains("line 1") && error.contains("`nats`, `redis`, `grader`"),
        "{error}"
    );
}

#[test]
fn wrong_type_in_the_file_is_refused_with_its_line() {
    let error = refused("[grader]\n\nslots = \"many\"\n", &[]);
    assert!(error.contains("line 3") && error.contains("many"), "{error}");
}

#[test]
fn unknown_variable_is_refused_by_its_name() {
    let error = refused("", &[("JOURNEYMAN__GRADER__SLOT", "4")]);
    assert_eq!(
        error,
        "environment variable `JOURNEYMAN__GRADER__SLOT` is not right: no such key, \
         expected one of `slots`, `tasks`, `extra`"
    );
    let error = refused("", &[("JOURNEYMAN__NUTS__URL", "x")]);
    assert!(error.contains("`JOURNEYMAN__NUTS"), "{error}");
}

#[test]
fn variable_of_the_wrong_type_is_refused_by_its_name() {
    let error = refused("", &[("JOURNEYMAN__GRADER__SLOTS", "many")]);
    assert!(
        error.contains("`JOURNEYMAN__GRADER__SLOTS`") && error.contains("many"),
        "{error}"
    );
}

#[test]
fn variables_of_other_services_and_other_programs_are_left_alone() {
    let others = [
        ("JOURNEYMAN__TRAINER__STEPS", "4"),
        ("JOURNEYMAN_HOME", "/somewhere"),
        ("JOURNEYMAN_GRADER_SERVICE_HOST", "10.0.0.1"),
    ];
    assert_eq!(loaded("", &others), Ok(Config::default()));
}

#[test]
fn variable_stays_text_where_text_is_wanted() {
    let variables = [
        ("JOURNEYMAN__SERVICE__INSTANCE", "1"),
        ("JOURNEYMAN__GRADER__TASKS", "true"),
        ("JOURNEYMAN__GRADER__EXTRA", "0.5"),
        ("JOURNEYMAN__REDIS__PASSWORD", "0123"),
    ];
    let config = loaded("", &variables).expect("it is right");
    assert_eq!(config.service.instance, "1");
    assert_eq!(
        (config.grader.tasks.as_str(), config.grader.extra),
        ("true", Some(0.5))
    );
    assert_eq!(config.redis.password.expose(), Some("0123"));
}

#[test]
fn secret_comes_from_the_environment_only_and_is_never_shown() {
    let error = refused("[redis]\npassword = \"hush\"\n", &[]);
    assert!(
        error.contains("environment variable `JOURNEYMAN__REDIS__PASSWORD`"),
        "{error}"
    );
    let config = loaded("", &[("JOURNEYMAN__NATS__PASSWORD", "hush")]).expect("it is right");
    let shown = format!(
        "{config:?}{}",
        toml::to_string_pretty(&config).expect("it can be written")
    );
    assert!(!shown.contains("hush") && shown.contains("<redacted>"), "{shown}");
}

#[test]
fn address_with_a_password_is_refused_without_showing_it() {
    let error = refused("[redis]\nurl = \"redis://me:hush@host:1\"\n", &[]);
    assert_eq!(
        error,
        "`redis.url` is `…@host:1`: it must be an address without user and password"
    );
}

#[test]
fn values_are_checked() {
    assert_eq!(
        refused("[grader]\nslots = 13\n", &[]),
        "`grader.slots` is `13`: it must be another number"
    );
    let error = refused("[service]\ngrace_s = -1.0\n", &[]);
    assert_eq!(error, "`service.grace_s` is `-1`: it must be 0 to 86400 seconds");
}

#[test]
fn dumped_configuration_reads_back_as_it_was() {
    let text = toml::to_string_pretty(&Config::default()).expect("it can be written");
    assert_eq!(
        parse::<Config>(&text, "dump").map_err(|error| error.to_string()),
        Ok(Config::default())
    );
}

#[test]
fn missing_file_is_named() {
    let error = load::<Config>(Some("no/such.toml".as_ref()), []).expect_err("it is not there");
    assert!(
        crate::chain(&error).starts_with("config file `no/such.toml` can't be read: "),
        "{error}"
    );
}
