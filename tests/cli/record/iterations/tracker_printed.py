"""The exact printed figures of the worked examples."""

from typing import Any

ARTIFACTS = ".aiwg/ralph/ralph-001/iterations/iteration-003/"

REGRESSION_PRINTED: dict[str, Any] = {
    "iteration_metrics": {
        "iteration": 3,
        "timestamp": "2026-02-02T10:15:00Z",
        "classification": "regression",
        "testing": {
            "test_count": 9,
            "tests_passed": 7,
            "tests_failed": 2,
            "pass_rate": 77.8,
            "coverage_percentage": 72.0,
        },
        "deltas": {
            "from_previous": {
                "test_count_delta": -1,
                "pass_rate_delta": -2.2,
                "coverage_delta": -3.0,
            },
            "from_baseline": {
                "test_count_delta": 1,
                "pass_rate_delta": 15.3,
                "coverage_delta": 7.0,
            },
        },
        "quality_score": 0.75,
        "alerts": [
            {
                "severity": "CRITICAL",
                "type": "test_deletion",
                "message": "Test count decreased from 10 to 9",
                "triggered_at": "iteration_3",
            },
            {
                "severity": "HIGH",
                "type": "coverage_regression",
                "message": "Coverage dropped 75%→72% (exceeds -2% threshold)",
                "triggered_at": "iteration_3",
            },
            {
                "severity": "HIGH",
                "type": "functionality_loss",
                "message": "Passing tests decreased from 8 to 7",
                "triggered_at": "iteration_3",
            },
        ],
    },
    "best_iteration_tracker": {
        "current_best": "iteration_2",
        "best_quality_score": 0.80,
        "current_iteration_score": 0.75,
    },
    "recommendation": {"action": "rollback", "target_iteration": 2, "confidence": 0.95},
}
"""The output for the loop that deletes a test."""

SELECTION_PRINTED: dict[str, Any] = {
    "loop_id": "ralph-001",
    "total_iterations": 5,
    "selected_iteration": 3,
    "final_iteration": 5,
    "quality_trajectory": {
        "iteration_1": 0.65,
        "iteration_2": 0.82,
        "iteration_3": 0.88,
        "iteration_4": 0.85,
        "iteration_5": 0.81,
    },
    "selection_criteria": {
        "primary": "highest_quality_score",
        "threshold": 0.70,
        "verification_required": True,
    },
    "selected_iteration_details": {
        "iteration": 3,
        "quality_score": 0.88,
        "timestamp": "2026-02-02T10:20:00Z",
        "testing": {
            "test_count": 10,
            "tests_passed": 10,
            "pass_rate": 100.0,
            "coverage_percentage": 85.0,
        },
        "quality": {"lint_errors": 0, "build_status": "success"},
        "artifacts_path": ARTIFACTS,
    },
    "comparison_to_final": {
        "final_quality": 0.81,
        "selected_quality": 0.88,
        "delta": 0.07,
        "improvement_percentage": 8.6,
        "reason_final_not_selected": "Quality degraded after iteration 3",
    },
    "selection_rationale": [
        "Iteration 3 achieved peak quality (0.88)",
        "All tests passing (10/10)",
        "Highest coverage (85%)",
        "Quality degraded in iterations 4-5",
        "Per REF-015, select peak quality, not final iteration",
    ],
    "degradation_analysis": {
        "degradation_started": "iteration_4",
        "pattern": "over_refinement",
        "iterations_after_peak": 2,
        "quality_loss": "-7.95%",
    },
    "artifacts_applied": [
        {"source": ARTIFACTS},
        {"destination": ".aiwg/output/"},
        {"files_copied": ["src/auth/login.ts", "test/auth/login.test.ts"]},
    ],
    "report_generated": ".aiwg/ralph/ralph-001/reports/output-selection.md",
}
"""The output for the loop that refines too much."""
