//! The life of a run, step by step.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use journeyman_lm::{
    LanguageModel,
    device::Device,
    lora::{Adapter, LoraConfig},
};
use journeyman_rl::optim::AdamW;
use journeyman_schemas::{
    ADAPTERS_BUCKET,
    event::{AdapterPublished, GroupState},
    ids::ContentHash,
    job::{Policy, Solution, State},
    run::{RunPhase, RunProgress},
    run_config::RunConfig,
};
use journeyman_service::{Context, Metric};
use journeyman_store::GroupRecord;
use journeyman_tasks::public::PublicTask;
use rand::RngExt;

use crate::{
    admission::Admission,
    checkpoint::{self, RunState},
    config::Config,
    dispatch::{Group, dispatch},
    draw::{self, Purpose},
    files::write_durably,
    measure,
    patience::{Trouble, patiently},
    rollouts::{self, EndedGroup},
    update::{Update, Updated, update},
};

/// Between two looks at the groups of a step.
const POLL: Duration = Duration::from_millis(400);

/// The 7 linear kinds that LoRA changes.
const TARGETS: [&str; 7] = [
    "q_proj",
    "k_proj",
    "v_proj",
    "o_proj",
    "gate_proj",
    "up_proj",
    "down_proj",
];

/// A run under way.
pub(crate) struct Run {
    ctx: Context<Config>,
    config: RunConfig,
    directory: PathBuf,
    task: PublicTask,
    model: Arc<LanguageModel>,
    adapter: Arc<Adapter>,
    optimizer: AdamW,
    state: RunState,
    admission: Admission,
}

impl Run {
    /// Loads the model and the last checkpoint, or begins the run, and publishes the present adapter.
    pub(crate) async fn start(ctx: Context<Config>, config: RunConfig) -> Result<Self> {
        let settings = &ctx.config.trainer;
        let task_dir = settings.tasks_dir().join(config.run.task.as_str());
        let task = PublicTask::load(&task_dir)?;
        let directory = settings.runs.join(config.run.id.as_str());
        std::fs::create_dir_all(&directory)
            .with_context(|| format!("can't create the run's directory `{}`", directory.display()))?;
        ctx.status.doing("loading the model");
        let device: Device = settings.device.parse()?;
        let path = settings.model_path.clone();
        let model = tokio::task::spawn_blocking(move || LanguageModel::load(&path, &device)).await??;

        let checkpoint = checkpoint::load(&directory.join("checkpoints"))?;
        let lora = LoraConfig {
            rank: config.lora.rank,
            alpha: config.lora.alpha,
        };
        let seed = draw::generator(config.run.seed, Purpose::Adapter, 0).random();
        let (adapter, optimizer, state) = match checkpoint {
            Some(checkpoint) => {
                let adapter = Adapter::from_safetensors(&checkpoint.adapter, &model.model, &model.sha256)
                    .context("the checkpoint's adapter does not fit this model")?;
                if adapter.config() != lora {
                    bail!(
                        "the run `{}` was begun with LoRA {:?}, but the config says {lora:?}: \
                         take another `run.id`, or move `{}` away",
                        config.run.id,
                        adapter.config(),
                        directory.display()
                    );
                }
                let optimizer = AdamW::from_bytes(&checkpoint.optimizer, adapter.parameters().len())?;
                tracing::info!(
                    step = checkpoint.state.step,
                    "going on after step {}",
                    checkpoint.state.step
                );
                (adapter, optimizer, checkpoint.state)
            }
            None => {
                let adapter = Adapter::init(&model.model, &model.sha256, lora, seed);
                let optimizer = AdamW::new(adapter.parameters().len());
                let hash = ContentHash::new(adapter.hash())?;
                let state = RunState {
                    step: 0,
                    adapter: hash.clone(),
                    optimizer: ContentHash::of(&optimizer.to_bytes()),
                    versions: vec![hash],
                    consumed: Vec::new(),
                    metrics: Vec::new(),
                };
                (adapter, optimizer, state)
            }
        };
        let first_slot = state.step * config.rollouts.groups_per_step;
        let admission = Admission::open(&directory.join("admission.json"), first_slot)?;
        let (model, adapter) = (Arc::new(model), Arc::new(adapter));
        let mut run = Self {
            ctx,
            config,
            directory,
            task,
            model,
            adapter,
            optimizer,
            state,
            admission,
        };
        if run.state.step == 0 {
            run.save_checkpoint()?;
        }
        run.write_metrics()?;
        let store = run.ctx.store.clone();
        let id = run.config.run.id.clone();
        run.patiently("clearing an old cancellation", || async {
            Ok(store.clear_cancel(&id).await?)
        })
        .await?;
        run.publish().await?;
        run.ctx.ready.open();
        Ok(run)
    }

    /// Takes the steps that are left.
    pub(crate) async fn train(&mut self) -> Result<()> {
        if self.config.run.policy == Policy::Ideator {
            self.collect().await?;
        }
        while self.state.step < self.config.run.steps {
            self.step().await?;
        }
        self.tell(RunPhase::Done, 0, 0).await?;
        tracing::info!(
            steps = self.state.step,
            "run done; its files are in {}",
            self.directory.display()
        );
        Ok(())
    }

    /// Tells that the run failed; best effort.
    pub(crate) async fn fail(&mut self) {
        if let Err(error) = self.tell(RunPhase::Failed, 0, 0).await {
            tracing::warn!("can't tell that the run failed: {error}");
        }
    }

    async fn step(&mut self) -> Result<()> {
        let version = self.state.step;
        let begun = self.ctx.clock.elapsed();
        self.ctx
            .status
            .doing(format!("waiting for the rollouts of step {}", version + 1));
        self.fill_slots(version).await?;
        let groups = self.await_groups(version).await?;
        let rollout_seconds = (self.ctx.clock.elapsed() - begun).as_secs_f64();
        self.tell(
            RunPhase::Updating,
            self.config.rollouts.groups_per_step,
            self.rollouts_per_step(),
        )
        .await?;

        self.ctx
            .status
            .doing(format!("updating the policy, step {}", version + 1));
        let update_begun = self.ctx.clock.elapsed();
        let updated = self.update(groups.clone()).await?;
        let now = self.ctx.clock.elapsed();
        let timing = measure::Timing {
            seconds: (now - begun).as_secs_f64(),
            rollout_seconds,
            update_seconds: (now - update_begun).as_secs_f64(),
        };
        let hash = ContentHash::new(updated.adapter.hash())?;
        let metrics = measure::step(
            version,
            &groups,
            &updated.measured,
            timing,
            hash.clone(),
            |score| self.task.gain(score),
        );

        // The checkpoint makes the step durable; everything after it is repeated by a restart.
        self.adapter = updated.adapter;
        self.optimizer = updated.optimizer;
        self.state.step += 1;
        self.state.versions.push(hash);
        self.state.consumed.extend(groups.iter().map(|group| group.group));
        self.state.metrics.push(metrics.clone());
        self.save_checkpoint()?;
        self.admission.consume(self.config.rollouts.groups_per_step)?;
        self.write_metrics()?;
        let store = self.ctx.store.clone();
        let id = self.config.run.id.clone();
        let (step, consumed) = (
            self.state.step,
            groups.iter().map(|group| group.group).collect::<Vec<_>>(),
        );
        self.patiently("marking groups as consumed", || async {
            Ok(store.mark_consumed(&id, step, &consumed).await?)
        })
        .await?;
        self.publish().await?;
        measure::export(&self.ctx, &metrics);
        measure::log(&metrics);
        Ok(())
    }

    /// Fills every slot that admission allows at `version`, and finishes dispatches that a crash cut short.
    async fn fill_slots(&mut self, version: u64) -> Result<()> {
        let unfinished: Vec<u64> = self
            .admission
            .slots()
            .filter(|(_, slot)| !slot.dispatched)
            .map(|(_, slot)| slot.group)
            .collect();
        for group in unfinished {
            self.dispatch_slot(group).await?;
        }
        let rollouts = &self.config.rollouts;
        let capacity = self
            .admission
            .capacity(version, rollouts.staleness, rollouts.groups_per_step);
        for _ in 0..capacity {
            let state = self.draw_state().await?;
            let group = self.admission.fill(version, state)?;
            self.dispatch_slot(group).await?;
        }
        Ok(())
    }

    async fn dispatch_slot(&mut self, number: u64) -> Result<()> {
        let Some(slot) = self
            .admission
            .slots()
            .map(|(_, slot)| slot)
            .find(|slot| slot.group == number)
            .cloned()
        else {
            return Ok(());
        };
        let group = Group {
            group: number,
            size: self.config.rollouts.group_size,
            state: slot.state,
            policy_version: slot.policy_version,
            adapter: Some(self.adapter_of(slot.policy_version)?),
            policy: self.config.run.policy,
            collect: false,
            deadline_ms: self.deadline_ms(),
        };
        self.dispatch(&group).await?;
        Ok(self.admission.mark_dispatched(number)?)
    }

    async fn dispatch(&self, group: &Group) -> Result<(), Trouble> {
        self.patiently("dispatching a group", || async {
            dispatch(&self.ctx.bus, &self.ctx.store, &self.config, group).await
        })
        .await
    }

    async fn draw_state(&self) -> Result<State> {
        let (run, task) = (&self.config.run.id, &self.config.run.task);
        let (seed, group) = (self.config.run.seed, self.admission.next_group());
        if self.config.run.policy == Policy::Ideator {
            let pool = self.pool().await?;
            return draw::ideator_state(seed, group, &pool).context("the state pool is empty");
        }
        let rollouts = &self.config.rollouts;
        let best = self
            .patiently("reading the best solutions", || async {
                Ok(self
                    .ctx
                    .store
                    .archive(run, task, rollouts.improve_from_best as usize)
                    .await?)
            })
            .await?;
        Ok(draw::implementer_state(
            seed,
            group,
            rollouts.improve_probability,
            &best,
        ))
    }

    /// Waits until every group of the step ended well enough, and replaces those that did not.
    async fn await_groups(&mut self, version: u64) -> Result<Vec<EndedGroup>> {
        let per_step = self.config.rollouts.groups_per_step as usize;
        loop {
            self.expire_due().await?;
            let slots: Vec<(u64, u64)> = self
                .admission
                .slots()
                .take(per_step)
                .map(|(slot, filled)| (slot, filled.group))
                .collect();
            let mut records = Vec::with_capacity(slots.len());
            for (slot, group) in slots {
                let record = self.record(group).await?;
                match record {
                    // Redis was wiped: the group is dispatched again, its jobs may still be queued.
                    None => self.dispatch_slot(group).await?,
                    Some(record) if record.state == GroupState::Open => records.push((group, record)),
                    Some(record) if rollouts::usable(&record, self.config.rollouts.min_usable) => {
                        records.push((group, record));
                    }
                    Some(record) => {
                        tracing::warn!(group, state = record.state.as_str(), "group {group} is replaced");
                        let state = self.draw_state().await?;
                        let group = self.admission.refill(slot, version, state)?;
                        self.dispatch_slot(group).await?;
                    }
                }
            }
            let ended = records
                .iter()
                .filter(|(_, record)| record.state != GroupState::Open)
                .count();
            let rollouts_done = records
                .iter()
                .map(|(_, record)| record.ends.iter().flatten().count())
                .sum::<usize>();
            self.tell(RunPhase::Rollouts, ended as u64, rollouts_done as u64)
                .await?;
            self.ctx
                .metrics
                .set(Metric::GroupsOpen, &[], (per_step - ended) as f64);
            if ended == per_step {
                return self.read(records).await;
            }
            self.pause().await?;
        }
    }

    async fn read(&self, records: Vec<(u64, GroupRecord)>) -> Result<Vec<EndedGroup>> {
        let mut groups = Vec::with_capacity(records.len());
        for (group, record) in records {
            let adapter = self.adapter_of(record.policy_version)?;
            groups
                .push(rollouts::read(&self.ctx.store, &self.config.run.id, group, &record, &adapter).await?);
        }
        Ok(groups)
    }

    async fn update(&self, groups: Vec<EndedGroup>) -> Result<Updated> {
        let leave = Arc::new(AtomicBool::new(false));
        let update_input = Update {
            config: self.config.clone(),
            model: self.model.clone(),
            adapter: self.adapter.clone(),
            optimizer: self.optimizer.clone(),
            step: self.state.step + 1,
            groups,
            stop: leave.clone(),
        };
        let mut work = tokio::task::spawn_blocking(move || update(update_input));
        tokio::select! {
            biased;
            () = self.ctx.stop.cancelled() => {
                leave.store(true, Ordering::Relaxed);
                Ok(work.await??)
            }
            updated = &mut work => Ok(updated??),
        }
    }

    /// Fills the state pool with attempts of the frozen implementer (policy = ideator).
    async fn collect(&mut self) -> Result<()> {
        while (self.pool().await?.len() as u32) < self.config.ideator.pool_size.div_ceil(2) {
            self.ctx.status.doing("filling the state pool");
            let group = Group {
                group: self.admission.extra_group()?,
                size: self.config.ideator.pool_size,
                state: State::Scratch,
                policy_version: 0,
                adapter: None,
                policy: Policy::Implementer,
                collect: true,
                deadline_ms: self.deadline_ms(),
            };
            self.dispatch(&group).await?;
            loop {
                self.expire_due().await?;
                let record = self.record(group.group).await?;
                let done = record
                    .as_ref()
                    .map_or(0, |record| record.ends.iter().flatten().count());
                self.tell(RunPhase::Collecting, 0, done as u64).await?;
                if record.is_none_or(|record| record.state != GroupState::Open) {
                    break;
                }
                self.pause().await?;
            }
        }
        Ok(())
    }

    async fn pool(&self) -> Result<Vec<Solution>, Trouble> {
        let (run, task) = (&self.config.run.id, &self.config.run.task);
        self.patiently("reading the state pool", || async {
            Ok(self.ctx.store.pool(run, task).await?)
        })
        .await
    }

    async fn record(&self, group: u64) -> Result<Option<GroupRecord>, Trouble> {
        let run = &self.config.run.id;
        self.patiently("reading a group", || async {
            Ok(self.ctx.store.group(run, group).await?)
        })
        .await
    }

    async fn expire_due(&self) -> Result<(), Trouble> {
        let run = &self.config.run.id;
        let expired = self
            .patiently("ending overdue groups", || async {
                Ok(self.ctx.store.expire_due(run, self.ctx.clock.now_ms()).await?)
            })
            .await?;
        for (group, state) in expired {
            self.ctx.metrics.count(Metric::GroupsEnded, &[state.as_str()]);
            tracing::warn!(group, state = state.as_str(), "group {group} passed its deadline");
        }
        Ok(())
    }

    /// Puts the present adapter into the object store, tells of it, and removes one that nobody needs any more.
    async fn publish(&self) -> Result<()> {
        let bytes = self.adapter.to_safetensors();
        let event = AdapterPublished {
            run: self.config.run.id.clone(),
            version: self.state.step,
            hash: self.state.adapter.clone(),
            model: self.config.model.id.clone(),
            base_sha256: self.model.sha256.clone(),
            rank: self.config.lora.rank as u32,
            alpha: self.config.lora.alpha,
            targets: TARGETS.map(String::from).to_vec(),
        };
        let id = format!("{}/adapter/{}", event.run, event.version);
        self.patiently("publishing the adapter", || async {
            self.ctx
                .bus
                .put_object(ADAPTERS_BUCKET, event.hash.as_str(), &bytes)
                .await?;
            Ok(self.ctx.bus.publish(&id, &event).await?)
        })
        .await?;
        let oldest_needed = self.state.step.saturating_sub(self.config.rollouts.staleness + 1);
        let needed = &self.state.versions[oldest_needed as usize..];
        if let Some(old) = oldest_needed
            .checked_sub(1)
            .map(|version| &self.state.versions[version as usize])
            && !needed.contains(old)
            && let Err(error) = self.ctx.bus.delete_object(ADAPTERS_BUCKET, old.as_str()).await
        {
            tracing::debug!("old adapter {} stays: {error}", old.short());
        }
        Ok(())
    }

    fn save_checkpoint(&mut self) -> Result<()> {
        let adapter = self.adapter.to_safetensors();
        let optimizer = self.optimizer.to_bytes();
        self.state.adapter = ContentHash::of(&adapter);
        self.state.optimizer = ContentHash::of(&optimizer);
        Ok(checkpoint::save(
            &self.directory.join("checkpoints"),
            &self.state,
            &adapter,
            &optimizer,
        )?)
    }

    /// Writes `metrics.jsonl` anew from the state, so that a crash neither repeats nor loses a line.
    fn write_metrics(&self) -> Result<()> {
        let mut lines = String::new();
        for metrics in &self.state.metrics {
            lines += &serde_json::to_string(metrics)?;
            lines.push('\n');
        }
        let path = self.directory.join("metrics.jsonl");
        write_durably(&path, lines.as_bytes()).with_context(|| format!("can't write `{}`", path.display()))
    }

    async fn tell(&self, phase: RunPhase, groups_done: u64, rollouts_done: u64) -> Result<(), Trouble> {
        let collecting = phase == RunPhase::Collecting;
        let progress = RunProgress {
            run: self.config.run.id.clone(),
            task: self.config.run.task.clone(),
            phase,
            step: self.state.step,
            steps: self.config.run.steps,
            groups_done,
            groups: self.config.rollouts.groups_per_step,
            rollouts_done,
            rollouts: if collecting {
                self.config.ideator.pool_size.into()
            } else {
                self.rollouts_per_step()
            },
            last: self.state.metrics.last().cloned(),
            directory: self.directory.display().to_string(),
            updated_ms: self.ctx.clock.now_ms(),
        };
        self.patiently("telling the progress", || async {
            Ok(self.ctx.store.set_progress(&progress).await?)
        })
        .await
    }

    fn rollouts_per_step(&self) -> u64 {
        self.config.rollouts.groups_per_step * u64::from(self.config.rollouts.group_size)
    }

    fn adapter_of(&self, version: u64) -> Result<ContentHash> {
        let known = self.state.versions.get(version as usize);
        known
            .cloned()
            .with_context(|| format!("policy version {version} was never published by this run"))
    }

    fn deadline_ms(&self) -> i64 {
        self.ctx.clock.now_ms() + self.config.rollouts.deadline_s as i64 * 1000
    }

    async fn pause(&self) -> Result<(), Trouble> {
        tokio::select! {
            biased;
            () = self.ctx.stop.cancelled() => Err(Trouble::Stopped),
            () = self.ctx.clock.sleep(POLL) => Ok(()),
        }
    }

    async fn patiently<T, F>(&self, what: &str, operation: impl FnMut() -> F) -> Result<T, Trouble>
    where
        F: Future<Output = Result<T, Trouble>>,
    {
        patiently(what, &self.ctx.clock, &self.ctx.stop, operation).await
    }
}
