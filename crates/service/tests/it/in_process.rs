//! A service's life inside a test.

use anyhow::{Result, anyhow, bail};
use journeyman_schemas::Stage;
use journeyman_service::{Context, InProcess, Kind, Metric, Scope, ServiceConfig};
use journeyman_testkit::eventually;

use crate::desk::{Config, Desk, LONG, ask, work};

#[tokio::test]
async fn service_is_ready_once_nothing_holds_it() -> Result<()> {
    let desk = Desk::open().await?;
    let run = async |ctx: Context<Config>| {
        ctx.ready.hold("model");
        ctx.ready.open();
        ctx.stop.cancelled().await;
        Ok(())
    };
    let service = InProcess::start("journeyman-sandbox", desk.config(), run).await?;
    eventually(LONG, || async { service.ready.held_by() == ["model"] }).await;
    assert_eq!(ask(service.admin, "GET", "/live", "").await?.0, 200);
    assert_eq!(
        ask(service.admin, "GET", "/ready", "").await?,
        (503, "model\n".into())
    );
    service.ready.release("model");
    service.ready.wait().await;
    assert_eq!(
        ask(service.admin, "GET", "/ready", "").await?,
        (200, "ready\n".into())
    );
    assert_eq!(ask(service.admin, "GET", "/nowhere", "").await?.0, 404);
    service.stop().await
}

#[tokio::test]
async fn metrics_show_every_series_from_the_start() -> Result<()> {
    let desk = Desk::open().await?;
    let service = InProcess::start("journeyman-sandbox", desk.config(), work).await?;
    service.ready.wait().await;
    let (status, text) = ask(service.admin, "GET", "/metrics", "").await?;
    assert_eq!(status, 200);
    for metric in Metric::ALL {
        let spec = metric.spec();
        let own = spec.scope == Scope::All || spec.scope == Scope::sandbox;
        assert_eq!(
            text.contains(&format!("# TYPE {} ", spec.name)),
            own,
            "{}",
            spec.name
        );
        if !own {
            continue;
        }
        let values = spec.labels.iter().map(|label| label.values(Config::STAGES).len());
        let series = text.lines().filter(|line| {
            let name = line.split(['{', ' ']).next().unwrap_or_default();
            name == spec.name || name.strip_suffix("_count") == Some(spec.name)
        });
        let (found, counted): (Vec<&str>, usize) = (series.collect(), values.product());
        assert_eq!(found.len(), counted, "{} {found:?}", spec.name);
        for line in found {
            assert!(line.contains("service=\"sandbox\""), "{line}");
            assert!(spec.kind == Kind::Gauge || line.ends_with(" 0"), "{line}");
        }
    }
    service.stop().await
}

#[tokio::test]
async fn jobs_are_counted_and_the_service_tells_what_it_does() -> Result<()> {
    let desk = Desk::open().await?;
    let service = InProcess::start("journeyman-sandbox", desk.config(), work).await?;
    let metrics = service.metrics.clone();
    for rollout in 0..3 {
        desk.enqueue(0, rollout, 10).await?;
    }
    let done = [Stage::Execute.as_str(), "done"];
    eventually(LONG, || async {
        metrics.value(Metric::JobsFinished, &done) == 3.0
    })
    .await;
    let stage = ["execute"];
    assert_eq!(metrics.value(Metric::JobsDelivered, &stage), 3.0);
    assert_eq!(metrics.value(Metric::JobSeconds, &stage), 3.0);
    assert_eq!(metrics.value(Metric::JobsInFlight, &stage), 0.0);
    assert_eq!(metrics.value(Metric::JobSlots, &stage), 2.0);
    assert!(metrics.value(Metric::StageProgressTime, &stage) > 1.6e9);
    eventually(LONG, || async {
        let services = desk.store.services().await.unwrap_or_default();
        services.iter().any(|service| {
            service.service == "journeyman-sandbox"
                && service.instance == "one"
                && service.ready
                && (service.done, service.busy, service.slots) == (3, 0, 2)
        })
    })
    .await;
    service.stop().await
}

#[tokio::test]
async fn failing_task_stops_the_service_with_its_error() -> Result<()> {
    let desk = Desk::open().await?;
    let run = async |ctx: Context<Config>| {
        ctx.tasks
            .spawn("engine", async { Err::<(), _>(anyhow!("out of tokens")) });
        ctx.stop.cancelled().await;
        Ok(())
    };
    let service = InProcess::start("journeyman-sandbox", desk.config(), run).await?;
    let error = service.join().await.expect_err("a task failed");
    assert_eq!(format!("{error:#}"), "task `engine` failed: out of tokens");
    Ok(())
}

#[tokio::test]
async fn panicking_task_stops_the_service_with_its_error() -> Result<()> {
    let desk = Desk::open().await?;
    let run = async |ctx: Context<Config>| {
        ctx.tasks.spawn("engine", async {
            if true { panic!("no way") } else { anyhow::Ok(()) }
        });
        ctx.stop.cancelled().await;
        Ok(())
    };
    let service = InProcess::start("journeyman-sandbox", desk.config(), run).await?;
    let error = format!("{:#}", service.join().await.expect_err("a task panicked"));
    assert!(
        error.starts_with("task `engine` panicked: ") && error.contains("no way"),
        "{error}"
    );
    Ok(())
}

#[tokio::test]
async fn service_that_ends_or_fails_by_itself_is_over() -> Result<()> {
    let desk = Desk::open().await?;
    let done = InProcess::start("journeyman-trainer", desk.config(), async |_ctx| Ok(())).await?;
    done.join().await?;
    let run = async |_ctx: Context<Config>| bail!("no model");
    let failed = InProcess::start("journeyman-trainer", desk.config(), run).await?;
    assert_eq!(
        failed.join().await.expect_err("it failed").to_string(),
        "no model"
    );
    Ok(())
}

#[tokio::test]
async fn work_that_outlasts_the_grace_period_is_left() -> Result<()> {
    let desk = Desk::open().await?;
    let mut config = desk.config();
    config.service.grace_s = 0.2;
    let run = async |ctx: Context<Config>| {
        ctx.ready.open();
        std::future::pending().await
    };
    let service = InProcess::start("journeyman-sandbox", config, run).await?;
    service.ready.wait().await;
    let error = service.stop().await.expect_err("it did not end");
    assert_eq!(error.to_string(), "work under way did not end within 0.2 s");
    Ok(())
}

#[tokio::test]
async fn killed_service_leaves_its_job_to_the_next() -> Result<()> {
    let desk = Desk::open().await?;
    let first = InProcess::start("journeyman-sandbox", desk.config(), work).await?;
    desk.enqueue(0, 0, 600_000).await?;
    let stage = ["execute"];
    eventually(LONG, || async {
        first.metrics.value(Metric::JobsInFlight, &stage) == 1.0
    })
    .await;
    first.kill().await;
    assert_eq!(desk.bus.backlog(Stage::Execute).await?.in_flight, 1);
    Ok(())
}

#[tokio::test]
async fn service_without_redis_is_not_ready_and_recovers() -> Result<()> {
    let mut desk = Desk::open().await?;
    let service = InProcess::start("journeyman-sandbox", desk.config(), work).await?;
    service.ready.wait().await;
    desk.redis.kill9();
    eventually(LONG, || async { service.ready.held_by() == ["redis"] }).await;
    desk.redis.restart()?;
    eventually(LONG, || async { service.ready.is_ready() }).await;
    service.stop().await
}

#[tokio::test]
async fn log_filter_belongs_to_the_process() -> Result<()> {
    let desk = Desk::open().await?;
    let service = InProcess::start("journeyman-sandbox", desk.config(), work).await?;
    assert_eq!(ask(service.admin, "GET", "/log-level", "").await?.0, 404);
    assert_eq!(ask(service.admin, "PUT", "/log-level", "debug").await?.0, 400);
    service.stop().await
}
