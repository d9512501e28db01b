"""What OpenTelemetry calls what agents do, for those attributes that we know.

From open-telemetry/semantic-conventions-genai at commit 002c8a6, whose status is
"Development". The constants of the Python package are all marked as moved there.
"""

OPERATION = "gen_ai.operation.name"
WORKFLOW, AGENT, TOOL = "invoke_workflow", "invoke_agent", "execute_tool"
"""The operations that a sprint, a run of an agent and a call of a tool are."""

WORKFLOW_NAME = "gen_ai.workflow.name"
PROVIDER = "gen_ai.provider.name"
AGENT_NAME = "gen_ai.agent.name"
AGENT_VERSION = "gen_ai.agent.version"
CONVERSATION = "gen_ai.conversation.id"
REQUEST_MODEL = "gen_ai.request.model"
RESPONSE_MODEL = "gen_ai.response.model"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
"""All that the model was given, what came from a cache or went into one included."""
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS = "gen_ai.usage.cache_read.input_tokens"
CACHE_CREATION_TOKENS = "gen_ai.usage.cache_creation.input_tokens"
TOOL_NAME = "gen_ai.tool.name"
TOOL_CALL = "gen_ai.tool.call.id"

EVALUATION = "gen_ai.evaluation.result"
EVALUATION_NAME = "gen_ai.evaluation.name"
EVALUATION_SCORE = "gen_ai.evaluation.score.value"
EVALUATION_LABEL = "gen_ai.evaluation.score.label"
ERROR_TYPE = "error.type"

PROVIDERS = {"claude": "anthropic", "codex": "openai", "gemini": "gcp.gemini"}
"""Whose models an agent asks; of the others anybody's."""
