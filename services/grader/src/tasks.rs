//! The tasks with their answers, loaded once each.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use journeyman_schemas::ids::TaskId;
use journeyman_service::chain;
use journeyman_tasks::{grading::GradingTask, public::prepared_tasks};

/// Loaded tasks, and where others are.
pub(crate) struct Tasks {
    home: PathBuf,
    loaded: Mutex<HashMap<TaskId, Arc<GradingTask>>>,
}

impl Tasks {
    /// The tasks under `home`, none loaded yet.
    pub(crate) fn new(home: PathBuf) -> Self {
        Self {
            home,
            loaded: Mutex::default(),
        }
    }

    /// Loads every prepared task, so that a broken one is seen at the start; it does not hold up the others.
    pub(crate) async fn load_prepared(&self) {
        let ids = prepared_tasks(&self.home);
        if ids.is_empty() {
            tracing::warn!(tasks = %self.home.display(), "no prepared task in `{}`", self.home.display());
        }
        for id in ids {
            match self.get(&id).await {
                Ok(_) => tracing::info!(task = %id, "task {id} loaded"),
                Err(reason) => tracing::error!(task = %id, reason, "task {id} can't be loaded"),
            }
        }
    }

    /// A task, loaded now if it was prepared after the start. The error says why it can't be loaded.
    pub(crate) async fn get(&self, id: &TaskId) -> Result<Arc<GradingTask>, String> {
        if let Some(task) = self.lock().get(id) {
            return Ok(task.clone());
        }
        let dir = self.home.join(id.as_str());
        let loaded = tokio::task::spawn_blocking(move || GradingTask::load(&dir)).await;
        let task = match loaded {
            Ok(Ok(task)) => Arc::new(task),
            Ok(Err(error)) => return Err(chain(&error)),
            Err(panic) => return Err(format!("task `{id}` can't be loaded: {panic}")),
        };
        self.lock().insert(id.clone(), task.clone());
        Ok(task)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<TaskId, Arc<GradingTask>>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
