"""The RAG QA judge: four scores for an answer from retrieved passages, each with its evidence."""

from krino.judges.rag.judge import RagJudge

__all__ = ["RagJudge"]
