//! Which calls of a program are which step, by the names of the libraries' interfaces.

use std::collections::{BTreeMap, BTreeSet};

use journeyman_schemas::execution::Marker;
use ruff_python_ast::{
    Arguments, Expr, ExprCall, ModModule, Stmt,
    statement_visitor::{self, StatementVisitor},
    visitor::{self, Visitor},
};

/// What a program's names mean.
#[derive(Debug, Default)]
pub struct Steps {
    /// Names of classes whose objects are models.
    estimators: BTreeSet<String>,
    /// Names of classes whose objects only change data.
    transformers: BTreeSet<String>,
    /// Variables that hold models, as written: `model`, `self.model`.
    models: BTreeSet<String>,
    /// Variables that hold transformers.
    transforming: BTreeSet<String>,
    /// Functions and methods of the program whose returned expression is a step.
    returns: BTreeMap<String, BTreeSet<Marker>>,
}

/// Modules of scikit-learn with models in them.
const ESTIMATOR_MODULES: [&str; 17] = [
    "calibration",
    "cluster",
    "cross_decomposition",
    "discriminant_analysis",
    "dummy",
    "ensemble",
    "gaussian_process",
    "isotonic",
    "kernel_ridge",
    "linear_model",
    "mixture",
    "multiclass",
    "multioutput",
    "naive_bayes",
    "neighbors",
    "neural_network",
    "semi_supervised",
];
/// More of them, in which every class is a model.
const ESTIMATOR_MODULES_MORE: [&str; 2] = ["svm", "tree"];
/// Modules of scikit-learn whose classes only change data.
const TRANSFORMER_MODULES: [&str; 8] = [
    "compose",
    "decomposition",
    "feature_extraction",
    "feature_selection",
    "impute",
    "preprocessing",
    "random_projection",
    "kernel_approximation",
];
/// How names of model classes of any library end.
const ESTIMATOR_ENDINGS: [&str; 10] = [
    "Classifier",
    "Regressor",
    "Regression",
    "Ranker",
    "SVC",
    "SVR",
    "NB",
    "SearchCV",
    "Sequential",
    "ClassifierCV",
];
/// Functions that read a data file.
const READERS: [&str; 12] = [
    "read_csv",
    "read_table",
    "read_parquet",
    "read_feather",
    "read_json",
    "read_excel",
    "read_pickle",
    "read_hdf",
    "read_fwf",
    "scan_csv",
    "loadtxt",
    "genfromtxt",
];
/// Methods that predict.
const PREDICTORS: [&str; 5] = [
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "fit_predict",
];

impl Steps {
    /// Reads the program's imports, classes, assignments and functions.
    pub fn of(module: &ModModule) -> Self {
        let mut steps = Steps::default();
        let mut gather = Gather {
            steps: &mut steps,
            returned: Vec::new(),
        };
        gather.visit_body(&module.body);
        let returned = gather.returned;
        // A second time, since a model's constructor may stand above the class or import that names it.
        Gather {
            steps: &mut steps,
            returned: Vec::new(),
        }
        .visit_body(&module.body);
        // A function may return what another returns; no chain is longer than the functions are many.
        for _ in 0..returned.len().min(8) {
            let before = steps.returns.clone();
            for (function, value) in &returned {
                let markers = steps.markers(value);
                if !markers.is_empty() {
                    steps.returns.entry(function.clone()).or_default().extend(markers);
                }
            }
            if steps.returns == before {
                break;
            }
        }
        steps
    }

    /// The steps that evaluating `expression` takes.
    pub fn markers(&self, expression: &Expr) -> BTreeSet<Marker> {
        let mut calls = Calls {
            steps: self,
            markers: BTreeSet::new(),
        };
        calls.visit_expr(expression);
        calls.markers
    }

    /// The steps of `target = value` beyond those of `value`: a model that is made by an unknown function.
    pub fn assigned(&self, target: &Expr, value: &Expr) -> Option<Marker> {
        let makes =
            matches!(value, Expr::Call(_)) && path(target).is_some_and(|path| self.models.contains(&path));
        makes.then_some(Marker::DefinedModel)
    }

    fn classify(&self, call: &ExprCall, markers: &mut BTreeSet<Marker>) {
        let (receiver, name) = match &*call.func {
            Expr::Attribute(attribute) => (Some(&*attribute.value), attribute.attr.as_str()),
            Expr::Name(name) => (None, name.id.as_str()),
            _ => return,
        };
        let receiver_is = |names: &[&str]| {
            receiver
                .and_then(path)
                .is_some_and(|path| names.contains(&path.as_str()))
        };
        if READERS.contains(&name)
            || (name == "load" && receiver_is(&["np", "numpy"]))
            || (matches!(name, "reader" | "DictReader") && receiver_is(&["csv"]))
        {
            markers.insert(Marker::LoadedData);
        }
        if self.is_estimator(name) {
            markers.insert(Marker::DefinedModel);
        }
        if (name == "fit" && receiver.is_some_and(|receiver| self.fits_model(receiver, &call.arguments)))
            || (name == "fit_predict" && receiver.is_some())
            || (name == "train" && receiver_is(&["xgb", "xgboost", "lgb", "lightgbm"]))
        {
            markers.insert(Marker::TrainedModel);
        }
        if receiver.is_some() && PREDICTORS.contains(&name) {
            markers.insert(Marker::Predicted);
        }
        if (name == "to_csv" && receiver.is_some() && writes_submission(&call.arguments, "path_or_buf"))
            || (name == "savetxt" && writes_submission(&call.arguments, "fname"))
        {
            markers.insert(Marker::WroteSubmission);
        }
        if let Some(returned) = self.returns.get(name) {
            markers.extend(returned);
        }
    }

    fn is_estimator(&self, name: &str) -> bool {
        self.estimators.contains(name)
            || (name.starts_with(|c: char| c.is_ascii_uppercase())
                && ESTIMATOR_ENDINGS.iter().any(|ending| name.ends_with(ending)))
    }

    /// Whether `receiver.fit(arguments)` fits a model, not a scaler or an encoder.
    fn fits_model(&self, receiver: &Expr, arguments: &Arguments) -> bool {
        if let Expr::Call(call) = receiver
            && let Some(name) = called(call)
        {
            return self.is_estimator(name) || !self.transformers.contains(name) && has_labels(arguments);
        }
        match path(receiver) {
            Some(path) if self.models.contains(&path) => true,
            Some(path) if self.transforming.contains(&path) => false,
            _ => has_labels(arguments),
        }
    }
}

/// Whether `expression` calls anything when it is evaluated.
pub fn calls_anything(expression: &Expr) -> bool {
    struct Any(bool);
    impl<'a> Visitor<'a> for Any {
        fn visit_expr(&mut self, expression: &'a Expr) {
            self.0 |= matches!(expression, Expr::Call(_));
            if !self.0 && !is_lazy(expression) {
                visitor::walk_expr(self, expression);
            }
        }
    }
    let mut any = Any(false);
    any.visit_expr(expression);
    any.0
}

/// Whether `item` of a `with` opens the submission for writing: `open("submission.csv", "w")`.
pub fn opens_submission(item: &Expr) -> bool {
    let Expr::Call(call) = item else { return false };
    let writes = call
        .arguments
        .find_argument_value("mode", 1)
        .and_then(literal)
        .is_some_and(|mode| mode.contains(['w', 'a', 'x']));
    let file = call.arguments.find_argument_value("file", 0).and_then(literal);
    called(call) == Some("open") && writes && file.is_some_and(|file| file.contains("submission"))
}

/// Collects what names mean, statement by statement.
struct Gather<'s, 'a> {
    steps: &'s mut Steps,
    returned: Vec<(String, &'a Expr)>,
}

impl<'a> StatementVisitor<'a> for Gather<'_, 'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::ImportFrom(import) => self.import(import),
            Stmt::ClassDef(class) => {
                let learns = |name: &str| matches!(name, "fit" | "predict" | "predict_proba" | "forward");
                if class
                    .body
                    .iter()
                    .any(|part| matches!(part, Stmt::FunctionDef(method) if learns(&method.name)))
                {
                    self.steps.estimators.insert(class.name.to_string());
                }
            }
            Stmt::FunctionDef(function) => {
                let mut returns = Returns(Vec::new());
                returns.visit_body(&function.body);
                self.returned.extend(
                    returns
                        .0
                        .into_iter()
                        .map(|value| (function.name.to_string(), value)),
                );
            }
            Stmt::Assign(assign) => {
                for target in &assign.targets {
                    self.assign(target, &assign.value);
                }
                self.receivers(&assign.value);
            }
            Stmt::AnnAssign(assign) => {
                if let Some(value) = &assign.value {
                    self.assign(&assign.target, value);
                    self.receivers(value);
                }
            }
            Stmt::Expr(statement) => self.receivers(&statement.value),
            Stmt::Return(statement) => {
                if let Some(value) = &statement.value {
                    self.receivers(value);
                }
            }
            _ => {}
        }
        statement_visitor::walk_stmt(self, statement);
    }
}

impl<'a> Gather<'_, 'a> {
    fn import(&mut self, import: &'a ruff_python_ast::StmtImportFrom) {
        let module = import.module.as_deref().unwrap_or_default();
        let Some(part) = module
            .strip_prefix("sklearn.")
            .and_then(|rest| rest.split('.').next())
        else {
            return;
        };
        let names = if ESTIMATOR_MODULES.contains(&part) || ESTIMATOR_MODULES_MORE.contains(&part) {
            &mut self.steps.estimators
        } else if TRANSFORMER_MODULES.contains(&part) {
            &mut self.steps.transformers
        } else {
            return;
        };
        for alias in &import.names {
            let name = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
            if alias.name.starts_with(|c: char| c.is_ascii_uppercase()) {
                names.insert(name.to_owned());
            }
        }
    }

    fn assign(&mut self, target: &'a Expr, value: &'a Expr) {
        let (Some(path), Expr::Call(call)) = (path(target), value) else {
            return;
        };
        let Some(name) = called(call) else { return };
        if self.steps.is_estimator(name) {
            self.steps.models.insert(path);
        } else if self.steps.transformers.contains(name) {
            self.steps.transforming.insert(path);
        }
    }

    /// What predicts is a model.
    fn receivers(&mut self, expression: &'a Expr) {
        struct Receivers<'s>(&'s mut BTreeSet<String>);
        impl<'a> Visitor<'a> for Receivers<'_> {
            fn visit_expr(&mut self, expression: &'a Expr) {
                if let Expr::Call(call) = expression
                    && let Expr::Attribute(attribute) = &*call.func
                    && PREDICTORS.contains(&attribute.attr.as_str())
                    && let Some(path) = path(&attribute.value)
                {
                    self.0.insert(path);
                }
                visitor::walk_expr(self, expression);
            }
        }
        Receivers(&mut self.steps.models).visit_expr(expression);
    }
}

/// The returned expressions of one function, not of those inside it.
struct Returns<'a>(Vec<&'a Expr>);

impl<'a> StatementVisitor<'a> for Returns<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Return(statement) => self.0.extend(statement.value.as_deref()),
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
            _ => statement_visitor::walk_stmt(self, statement),
        }
    }
}

/// The steps among the calls that evaluating an expression makes.
struct Calls<'s> {
    steps: &'s Steps,
    markers: BTreeSet<Marker>,
}

impl<'a> Visitor<'a> for Calls<'_> {
    fn visit_expr(&mut self, expression: &'a Expr) {
        if is_lazy(expression) {
            return;
        }
        if let Expr::Call(call) = expression {
            self.steps.classify(call, &mut self.markers);
        }
        visitor::walk_expr(self, expression);
    }
}

/// Whether what is inside `expression` runs later, if at all.
fn is_lazy(expression: &Expr) -> bool {
    matches!(expression, Expr::Lambda(_) | Expr::Generator(_))
}

/// `a.b.c` of names and attributes.
fn path(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Name(name) => Some(name.id.to_string()),
        Expr::Attribute(attribute) => Some(format!("{}.{}", path(&attribute.value)?, attribute.attr)),
        _ => None,
    }
}

/// Last name of what is called.
fn called(call: &ExprCall) -> Option<&str> {
    match &*call.func {
        Expr::Name(name) => Some(name.id.as_str()),
        Expr::Attribute(attribute) => Some(attribute.attr.as_str()),
        _ => None,
    }
}

fn literal(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::StringLiteral(text) => Some(text.value.to_str()),
        _ => None,
    }
}

/// Whether the first argument names the submission, or is not written out.
fn writes_submission(arguments: &Arguments, name: &str) -> bool {
    let Some(file) = arguments.find_argument_value(name, 0) else {
        return false;
    };
    literal(file).is_none_or(|file| file.contains("submission"))
}

/// Whether features and labels are given.
fn has_labels(arguments: &Arguments) -> bool {
    arguments.args.len() >= 2
        || arguments
            .args
            .iter()
            .any(|argument| matches!(argument, Expr::Starred(_)))
        || arguments.find_keyword("y").is_some()
}
