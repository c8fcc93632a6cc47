"""Words of errors in languages other than English, with the English words that mean the same.

Gateways and servers translate their errors, and keep the names of fields such as `tool_calls`. Only
words that matter for an error about calls are listed; the order of the words stays.
"""

from __future__ import annotations

import re
from functools import cache

_TOOL = r"herramientas?|ferramentas?|outils?|werkzeuge?s?|strument[oi]"
_MESSAGE = r"mensajes?|mensage(?:m|ns)|nachricht(?:en)?|messaggi?o?"
_MUST = r"(?:deben?|devem?|doit|doivent|muss|müssen|sollte|dev[eo]no)"

TRANSLATIONS: tuple[tuple[str, str], ...] = (
    # --- Spanish, Portuguese, French, German, Italian ---------------------------------------------
    (r"must be followed by \1", r"\bmuss von (.{1,40}?) gefolgt(?: werden)?"),
    ("must be followed", rf"\b{_MUST} (?:ir |être |ser |venire |estar )?(?:segu|suivi)\w*"),
    (
        "must be a response",
        rf"\b{_MUST} (?:ser|être|eine?|essere) ?(?:un[ae]? )?(?:antwort|r\w+sp\w+)",
    ),
    ("must be", rf"\b{_MUST}(?: ser| être| estar| sein| essere)?\b"),
    (
        "tool message",
        rf"\b(?:{_MESSAGE}|messages?) (?:de |da |do |del |d|der )?(?:l )?(?:{_TOOL})\b",
    ),
    (
        "tool result",
        rf"\b(?:resultados?|résultats?|ergebnis(?:se)?|risultat[oi]) (?:de|da|do|del|der|des)"
        rf" (?:la |l )?(?:{_TOOL})\b",
    ),
    ("tool message", rf"\b(?:tool|werkzeug)-?(?:{_MESSAGE})\b"),
    ("assistant message", rf"\bassistente?n?-?(?:{_MESSAGE})\b"),
    (
        "tool call",
        rf"\b(?:llamadas?|chamadas?|appels?|aufrufe?|chiamat[ae]) (?:de |da |a |d|à )?"
        rf"(?:la |l )?(?:{_TOOL}|función|função|fonction)\b",
    ),
    ("tool call", r"\b(?:werkzeug|tool|funktions)-?aufrufe?s?\b"),
    ("call", r"\b(?:llamadas?|chamadas?|appels?|aufrufe?|chiamat[ae])\b"),
    (
        "does not match",
        r"\b(?:no|não) correspond\w*|\bne correspond\w* (?:pas )?|\bentspricht (?:nicht|kein\w*)",
    ),
    ("without", r"\b(?:sin|sem|sans|ohne|senza)\b"),
    ("for", r"\b(?:para|pour|für)\b"),
    ("role", r"\b(?:rol|papel|rôle|rolle|ruolo)\b|\bfunção (?=tool)"),
    ("tool", rf"\b(?:{_TOOL})\b"),
    ("message", rf"\b(?:{_MESSAGE})\b"),
    ("assistant", r"\b(?:asistente|assistente)\b"),
    ("response", r"\b(?:respuestas?|respostas?|réponses?|antwort(?:en)?|rispost[ae])\b"),
    ("result", r"\b(?:resultados?|résultats?|ergebnis(?:se)?|risultat[oi])\b"),
    ("preceding", r"\b(?:anterior|précédente?|vorherigen?|precedente)\b"),
    ("not found", r"\b(?:no se encontr\w+|não (?:foi )?encontrad\w+|introuvable|nicht gefunden)\b"),
    ("missing", r"\b(?:faltan?|ausente|manquante?|fehlt|fehlende?s?|mancante)\b"),
    ("required", r"\b(?:requeridos?|obrigatóri\w+|requise?|obligatoire|erforderlich)\b"),
    ("duplicate", r"\b(?:duplicad\w+|dupliqué\w*|doppelte?s?)\b"),
    ("invalid", r"\b(?:inválid\w+|invalide|ungültige?s?|non valid\w+)\b"),
    ("empty", r"\b(?:vací[oa]s?|vazi[oa]s?|vides?|leere?s?|vuot[oi])\b"),
    ("unknown", r"\b(?:desconocid\w+|desconhecid\w+|inconnue?s?|unbekannte?s?)\b"),
    # --- Indonesian, Vietnamese, Turkish, Polish --------------------------------------------------
    ("not found", r"\b(?:tidak ditemukan|không tìm thấy|bulunamadı|nie znaleziono)"),
    ("missing", r"\b(?:tidak ada|hilang|thiếu|eksik|brakuje)\b"),
    ("invalid", r"\b(?:tidak valid|không hợp lệ|geçersiz|nieprawidłow\w+)"),
    # --- Russian ----------------------------------------------------------------------------------
    ("tool call", r"вызов\w* инструмент\w*|вызов\w* функци\w*"),
    ("tool message", r"сообщени\w* (?:от )?инструмент\w*|ответ\w* инструмент\w*"),
    ("tool", r"инструмент\w*"),
    ("message", r"сообщени\w*"),
    ("role", r"рол[ьию]\w*"),
    ("must", r"долж[еон]\w*"),
    ("follow", r"следова\w+|следует"),
    ("not found", r"не найден\w*"),
    ("missing", r"отсутству\w+|пропущен\w*"),
    ("invalid", r"недопустим\w*|неверн\w*|некорректн\w*"),
    ("required", r"обязател\w*"),
    # --- Chinese ----------------------------------------------------------------------------------
    ("tool message", r"tool ?角色的?消息|role ?为 ?tool ?的消息"),
    ("must follow", r"必须(?:紧?跟在|跟随在?|位于)|(?:之?后|后面)必须(?:紧?跟随?|有)?"),
    ("not preceded", r"前面?没有"),
    ("must be response", r"必须是对.{0,20}的(?:响应|回复)"),
    ("corresponding", r"(?:相)?对应的?|匹配的?"),
    ("result", r"(?<!工具)(?<!调用)(?:结果|响应|返回)"),
    # --- Japanese and Korean ----------------------------------------------------------------------
    ("tool call", r"ツール(?:の)?呼び出し|関数呼び出し|도구 ?호출|함수 ?호출"),
    ("tool result", r"ツール(?:の)?(?:結果|メッセージ|応答)|도구 ?(?:결과|메시지|응답)"),
    ("tool", r"ツール|도구"),
    ("result", r"結果|応答|결과|응답"),
    ("message", r"メッセージ|메시지"),
    ("role", r"ロール|役割|역할"),
    ("not found", r"見つかりません|存在しません|찾을 수 없\w*"),
    ("missing", r"がありません|不足して\w*|누락\w*|없습니다"),
    ("invalid", r"無効\w*|不正\w*|잘못된|유효하지 않\w*"),
    ("required", r"必須|필수"),
)
"""The English words, which may refer to a group of the expression, and the expression."""
_FOREIGN = re.compile(
    r"[^\x00-\x7f]|\b(?:des?|del|con|com|mit|avec|un|una?|une|von|der|el|los|tidak|ohne|sin|sans"
    r"|sem|senza|werkzeuge?s?|herramientas?|ferramentas?|outils?)\b"
)
"""Recognizes a text that may be in another language."""


@cache
def _translations() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((f" {english} ", re.compile(words)) for english, words in TRANSLATIONS)


def translate_words(form: str) -> str:
    """A searchable form with English words instead of words in other languages."""
    if _FOREIGN.search(form):
        for english, words in _translations():
            form = words.sub(english, form)
    return form
